<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="vi" sourcelanguage="en">
<context>
    <name>Attachments</name>
    <message>
        <source>%1 is a folder: attach the files in it.</source>
        <translation>%1 là một thư mục: hãy đính kèm các tệp trong đó.</translation>
    </message>
    <message>
        <source>%1 is not a regular file and cannot be attached.</source>
        <translation>%1 không phải là tệp thông thường nên không thể đính kèm.</translation>
    </message>
    <message>
        <source>%1 is not there.</source>
        <translation>%1 không có ở đó.</translation>
    </message>
    <message>
        <source>%1 cannot be read: %2.</source>
        <translation>Không đọc được %1: %2.</translation>
    </message>
    <message>
        <source>%1 is too large to attach: it has %2, and up to %3 are read. Attach the part that matters.</source>
        <translation>%1 quá lớn để đính kèm: tệp có %2, chỉ đọc tối đa %3. Hãy đính kèm phần quan trọng.</translation>
    </message>
    <message>
        <source>The text of %1 is in an encoding that cannot be told. Save it as UTF-8 and attach it again.</source>
        <translation>Không nhận ra bảng mã của %1. Hãy lưu tệp ở dạng UTF-8 rồi đính kèm lại.</translation>
    </message>
    <message>
        <source>%1 is empty.</source>
        <translation>%1 trống.</translation>
    </message>
    <message>
        <source>%1 was not attached: its reading was cancelled.</source>
        <translation>Chưa đính kèm %1: việc đọc tệp đã bị hủy.</translation>
    </message>
    <message>
        <source>%1 is not a text file. Text, source code, CSV, Markdown and PDF can be attached.</source>
        <translation>%1 không phải là tệp văn bản. Có thể đính kèm văn bản, mã nguồn, CSV, Markdown và PDF.</translation>
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
        <translation>token/s</translation>
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
        <translation>lượt chạy</translation>
    </message>
    <message>
        <source>in</source>
        <translation>vào</translation>
    </message>
    <message>
        <source>out</source>
        <translation>ra</translation>
    </message>
    <message>
        <source>TTFT ms</source>
        <translation>TTFT (ms)</translation>
    </message>
    <message>
        <source>tokens/s</source>
        <translation>token/s</translation>
    </message>
    <message>
        <source>hit rate</source>
        <translation>tỷ lệ trúng</translation>
    </message>
    <message>
        <source>copied</source>
        <translation>đã sao chép</translation>
    </message>
    <message>
        <source>Benchmark of %1</source>
        <translation>Đo hiệu năng của %1</translation>
    </message>
    <message>
        <source>date</source>
        <translation>ngày</translation>
    </message>
    <message>
        <source>program</source>
        <translation>chương trình</translation>
    </message>
    <message>
        <source>computer</source>
        <translation>máy tính</translation>
    </message>
    <message>
        <source>%1, %2 cores, %3 RAM</source>
        <translation>%1, %2 nhân, RAM %3</translation>
    </message>
    <message>
        <source>device</source>
        <translation>thiết bị</translation>
    </message>
    <message>
        <source>timing</source>
        <translation>thời gian</translation>
    </message>
    <message>
        <source>the device is emulated: its times are worked out, not measured</source>
        <translation>thiết bị là giả lập: thời gian của nó được tính ra, không phải đo được</translation>
    </message>
    <message>
        <source>model</source>
        <translation>mô hình</translation>
    </message>
    <message>
        <source>budgets</source>
        <translation>hạn mức</translation>
    </message>
    <message>
        <source>ITL</source>
        <translation>ITL</translation>
    </message>
    <message>
        <source>each decode step of the engine, by the device&apos;s clock</source>
        <translation>mỗi bước giải mã của bộ máy, theo đồng hồ của thiết bị</translation>
    </message>
    <message>
        <source>Answers</source>
        <translation>Câu trả lời</translation>
    </message>
    <message>
        <source>Scenarios</source>
        <translation>Kịch bản</translation>
    </message>
    <message>
        <source>Two plans on one prompt</source>
        <translation>Hai phương án trên cùng một lời nhắc</translation>
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
        <translation>Không lưu được kết quả vào %1: %2.</translation>
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
        <translation>ngữ cảnh %1</translation>
    </message>
    <message>
        <source>all experts in %1</source>
        <translation>mọi chuyên gia ở %1</translation>
    </message>
    <message>
        <source>at least %1 bits</source>
        <translation>ít nhất %1 bit</translation>
    </message>
    <message>
        <source>loss at most %1</source>
        <translation>tổn thất tối đa %1</translation>
    </message>
    <message>
        <source>KV cache in %1 bits</source>
        <translation>KV cache %1 bit</translation>
    </message>
    <message>
        <source>measured loss at most %1 nats</source>
        <translation>tổn thất đo được tối đa %1 nat</translation>
    </message>
    <message>
        <source>quality: %1</source>
        <translation>chất lượng: %1</translation>
    </message>
</context>
<context>
    <name>CachePlace</name>
    <message>
        <source>Nothing can be written to %1. Choose another folder.</source>
        <translation>Không ghi được vào %1. Hãy chọn thư mục khác.</translation>
    </message>
</context>
<context>
    <name>ConversationFiles</name>
    <message>
        <source>missing</source>
        <translation>không có</translation>
    </message>
    <message>
        <source>a list</source>
        <translation>một danh sách</translation>
    </message>
    <message>
        <source>an object</source>
        <translation>một đối tượng</translation>
    </message>
    <message>
        <source>%1: %2 is %3; an object was expected.</source>
        <translation>%1: %2 là %3; cần một đối tượng.</translation>
    </message>
    <message>
        <source>%1: %2 is %3; %4 was expected.</source>
        <translation>%1: %2 là %3; cần %4.</translation>
    </message>
    <message>
        <source>a text</source>
        <translation>một văn bản</translation>
    </message>
    <message>
        <source>true or false</source>
        <translation>true hoặc false</translation>
    </message>
    <message>
        <source>a time in milliseconds</source>
        <translation>thời gian tính bằng mili giây</translation>
    </message>
    <message>
        <source>%1, its place in the list,</source>
        <translation>%1, vị trí của nó trong danh sách,</translation>
    </message>
    <message>
        <source>0, or the number of an earlier message,</source>
        <translation>0 hoặc số của một tin nhắn trước đó</translation>
    </message>
    <message>
        <source>a number</source>
        <translation>một số</translation>
    </message>
    <message>
        <source>a value in the range of this setting</source>
        <translation>giá trị trong phạm vi của thiết lập này</translation>
    </message>
    <message>
        <source>0, or the number of a message,</source>
        <translation>0 hoặc số của một tin nhắn</translation>
    </message>
    <message>
        <source>%1: this is not JSON (%2 at byte %3).</source>
        <translation>%1: đây không phải JSON (%2 tại byte %3).</translation>
    </message>
    <message>
        <source>a version up to %1</source>
        <translation>phiên bản tối đa %1</translation>
    </message>
    <message>
        <source>%1 cannot be read: %2.</source>
        <translation>Không đọc được %1: %2.</translation>
    </message>
    <message>
        <source>%1 is too large: %2 bytes; up to %3 are read.</source>
        <translation>%1 quá lớn: %2 byte; chỉ đọc tối đa %3.</translation>
    </message>
    <message>
        <source>System prompt</source>
        <translation>Lời nhắc hệ thống</translation>
    </message>
    <message>
        <source>%1 cannot be written: %2.</source>
        <translation>Không ghi được %1: %2.</translation>
    </message>
</context>
<context>
    <name>EngineText</name>
    <message>
        <source>%1: holds more than %2 JSON values; expected fewer</source>
        <comment>json_too_many_values</comment>
        <translation>%1: chứa hơn %2 giá trị JSON; cần ít hơn</translation>
    </message>
    <message>
        <source>%1: JSON nested deeper than %2 levels</source>
        <comment>json_too_deep</comment>
        <translation>%1: JSON lồng nhau sâu hơn %2 cấp</translation>
    </message>
    <message>
        <source>%1: key %2 appears twice in one object; expected each key once</source>
        <comment>json_key_twice</comment>
        <translation>%1: khóa %2 xuất hiện hai lần trong một đối tượng; mỗi khóa chỉ được có một lần</translation>
    </message>
    <message>
        <source>%1: not valid JSON: a NUL byte at byte %2; expected text in UTF-8</source>
        <comment>json_nul_byte</comment>
        <translation>%1: không phải JSON hợp lệ: có byte NUL tại byte %2; cần văn bản UTF-8</translation>
    </message>
    <message>
        <source>%1: not valid JSON at byte %2; expected JSON in UTF-8</source>
        <comment>json_invalid</comment>
        <translation>%1: không phải JSON hợp lệ tại byte %2; cần JSON ở dạng UTF-8</translation>
    </message>
    <message>
        <source>%1: not valid JSON: a number out of range; expected numbers that fit 64 bits</source>
        <comment>json_number_out_of_range</comment>
        <translation>%1: không phải JSON hợp lệ: có số vượt phạm vi; cần các số vừa 64 bit</translation>
    </message>
    <message>
        <source>%1: the file is %2; expected a JSON object</source>
        <comment>json_file_no_object</comment>
        <translation>%1: tệp là %2; cần một đối tượng JSON</translation>
    </message>
    <message>
        <source>%1: %2 is %3; expected a JSON object</source>
        <comment>json_no_object</comment>
        <translation>%1: %2 là %3; cần một đối tượng JSON</translation>
    </message>
    <message>
        <source>%1: &quot;%2&quot; is missing; expected %3</source>
        <comment>field_missing</comment>
        <translation>%1: thiếu &quot;%2&quot;; cần %3</translation>
    </message>
    <message>
        <source>%1: &quot;%2&quot; is %3; expected %4</source>
        <comment>field_rejected</comment>
        <translation>%1: &quot;%2&quot; là %3; cần %4</translation>
    </message>
    <message>
        <source>a number from %1 to %2</source>
        <comment>a_number_in_range</comment>
        <translation>một số từ %1 đến %2</translation>
    </message>
    <message>
        <source>an integer from %1 to %2</source>
        <comment>an_integer_in_range</comment>
        <translation>một số nguyên từ %1 đến %2</translation>
    </message>
    <message>
        <source>true or false</source>
        <comment>true_or_false</comment>
        <translation>true hoặc false</translation>
    </message>
    <message>
        <source>a text</source>
        <comment>a_text</comment>
        <translation>một đoạn văn bản</translation>
    </message>
    <message>
        <source>a list of %1</source>
        <comment>a_list_of</comment>
        <translation>một danh sách gồm %1</translation>
    </message>
    <message>
        <source>an object</source>
        <comment>an_object</comment>
        <translation>một đối tượng</translation>
    </message>
    <message>
        <source>something else</source>
        <comment>something_else</comment>
        <translation>một thứ khác</translation>
    </message>
    <message>
        <source>%1: cannot be opened: %2</source>
        <comment>cannot_be_opened</comment>
        <translation>%1: không mở được: %2</translation>
    </message>
    <message>
        <source>%1: cannot be read: %2</source>
        <comment>cannot_be_read</comment>
        <translation>%1: không đọc được: %2</translation>
    </message>
    <message>
        <source>%1: cannot be mapped: %2</source>
        <comment>cannot_be_mapped</comment>
        <translation>%1: không ánh xạ được vào bộ nhớ: %2</translation>
    </message>
    <message>
        <source>%1: cannot be examined: %2</source>
        <comment>cannot_be_examined</comment>
        <translation>%1: không kiểm tra được: %2</translation>
    </message>
    <message>
        <source>%1: cannot be listed: %2</source>
        <comment>cannot_be_listed</comment>
        <translation>%1: không liệt kê được: %2</translation>
    </message>
    <message>
        <source>%1: cannot be read.</source>
        <comment>profile_cannot_be_read</comment>
        <translation>%1: không đọc được.</translation>
    </message>
    <message>
        <source>%1: is a folder; expected a file</source>
        <comment>is_a_folder</comment>
        <translation>%1: là một thư mục; cần một tệp</translation>
    </message>
    <message>
        <source>%1: is not a regular file; expected a file</source>
        <comment>no_regular_file</comment>
        <translation>%1: không phải tệp thông thường; cần một tệp</translation>
    </message>
    <message>
        <source>%1: has %2 bytes; expected at most %3</source>
        <comment>file_too_large</comment>
        <translation>%1: có %2 byte; chỉ được tối đa %3</translation>
    </message>
    <message>
        <source>%1: cannot be read: it has %2 bytes now and had %3 when it was opened; put the file back as it was.</source>
        <comment>file_changed_size</comment>
        <translation>%1: không đọc được: tệp hiện có %2 byte, còn khi mở có %3 byte; hãy khôi phục tệp như cũ.</translation>
    </message>
    <message>
        <source>%1: cannot be read: %2 at byte %3 or soon after it.</source>
        <comment>cannot_be_read_at_byte</comment>
        <translation>%1: không đọc được: %2 tại byte %3 hoặc ngay sau đó.</translation>
    </message>
    <message>
        <source>%1 cannot be read: %2.</source>
        <comment>text_file_cannot_be_read</comment>
        <translation>Không đọc được %1: %2.</translation>
    </message>
    <message>
        <source>%1 is not a file.</source>
        <comment>text_file_is_no_file</comment>
        <translation>%1 không phải là tệp.</translation>
    </message>
    <message>
        <source>%1 cannot be opened.</source>
        <comment>text_file_cannot_be_opened</comment>
        <translation>Không mở được %1.</translation>
    </message>
    <message>
        <source>%1 is larger than %2 bytes, the most that is read of such a file.</source>
        <comment>text_file_too_large</comment>
        <translation>%1 lớn hơn %2 byte, mức tối đa được đọc của loại tệp này.</translation>
    </message>
    <message>
        <source>%1 could not be read to its end.</source>
        <comment>text_file_cut_short</comment>
        <translation>Không đọc được %1 đến hết.</translation>
    </message>
    <message>
        <source>%1 is not valid JSON.</source>
        <comment>text_file_no_json</comment>
        <translation>%1 không phải JSON hợp lệ.</translation>
    </message>
    <message>
        <source>%1 must hold a JSON object.</source>
        <comment>text_file_no_json_object</comment>
        <translation>%1 phải chứa một đối tượng JSON.</translation>
    </message>
    <message>
        <source>%1: no such folder; expected a model&apos;s folder with config.json, the tokenizer&apos;s files, and model.safetensors or model.safetensors.index.json with its shards</source>
        <comment>no_model_folder</comment>
        <translation>%1: không có thư mục này; cần thư mục của mô hình với config.json, các tệp của bộ tách token, và model.safetensors hoặc model.safetensors.index.json cùng các tệp phần</translation>
    </message>
    <message>
        <source>%1: is a file; expected the model&apos;s folder, with config.json, the tokenizer&apos;s files, and model.safetensors or model.safetensors.index.json with its shards</source>
        <comment>model_folder_is_a_file</comment>
        <translation>%1: là một tệp; cần thư mục của mô hình, với config.json, các tệp của bộ tách token, và model.safetensors hoặc model.safetensors.index.json cùng các tệp phần</translation>
    </message>
    <message>
        <source>a list with one name: %1</source>
        <comment>a_list_with_one_name</comment>
        <translation>một danh sách có một tên: %1</translation>
    </message>
    <message>
        <source>&quot;%1&quot;, because &quot;architectures&quot; says %2</source>
        <comment>model_type_of_architecture</comment>
        <translation>&quot;%1&quot;, vì &quot;architectures&quot; ghi %2</translation>
    </message>
    <message>
        <source>%1: &quot;model_type&quot; %2 is not supported; supported: %3</source>
        <comment>model_type_unsupported</comment>
        <translation>%1: &quot;model_type&quot; %2 không được hỗ trợ; được hỗ trợ: %3</translation>
    </message>
    <message>
        <source>%1: architecture %2 is not supported; supported: %3</source>
        <comment>architecture_unsupported</comment>
        <translation>%1: kiến trúc %2 không được hỗ trợ; được hỗ trợ: %3</translation>
    </message>
    <message>
        <source>%1: &quot;%2&quot; is %3, which is not supported; expected %4</source>
        <comment>field_unsupported</comment>
        <translation>%1: &quot;%2&quot; là %3, không được hỗ trợ; cần %4</translation>
    </message>
    <message>
        <source>a quantized checkpoint</source>
        <comment>a_quantized_checkpoint</comment>
        <translation>checkpoint đã lượng tử hóa</translation>
    </message>
    <message>
        <source>an embedding for each layer</source>
        <comment>an_embedding_for_each_layer</comment>
        <translation>một phép nhúng cho mỗi lớp</translation>
    </message>
    <message>
        <source>keys and values that layers share</source>
        <comment>shared_keys_and_values</comment>
        <translation>khóa và giá trị dùng chung giữa các lớp</translation>
    </message>
    <message>
        <source>null or &quot;vision&quot;</source>
        <comment>null_or_vision</comment>
        <translation>null hoặc &quot;vision&quot;</translation>
    </message>
    <message>
        <source>an object with &quot;rope_type&quot; and &quot;rope_theta&quot;</source>
        <comment>an_object_with_rope_type</comment>
        <translation>một đối tượng có &quot;rope_type&quot; và &quot;rope_theta&quot;</translation>
    </message>
    <message>
        <source>%1: &quot;%2&quot; asks for rope type %3, which is not supported; expected &quot;default&quot;, &quot;linear&quot;, &quot;dynamic&quot;, &quot;yarn&quot;, &quot;longrope&quot;, &quot;llama3&quot; or &quot;proportional&quot;</source>
        <comment>rope_type_unsupported</comment>
        <translation>%1: &quot;%2&quot; yêu cầu kiểu rope %3, không được hỗ trợ; cần &quot;default&quot;, &quot;linear&quot;, &quot;dynamic&quot;, &quot;yarn&quot;, &quot;longrope&quot;, &quot;llama3&quot; hoặc &quot;proportional&quot;</translation>
    </message>
    <message>
        <source>a number above &quot;low_freq_factor&quot;</source>
        <comment>a_number_above_low_freq_factor</comment>
        <translation>một số lớn hơn &quot;low_freq_factor&quot;</translation>
    </message>
    <message>
        <source>%1: &quot;%2.%3 is an object: rotary positions that differ between layers are not supported; expected one set for all layers</source>
        <comment>rope_differs_between_layers</comment>
        <translation>%1: &quot;%2.%3 là một đối tượng: vị trí xoay khác nhau giữa các lớp không được hỗ trợ; cần một bộ chung cho mọi lớp</translation>
    </message>
    <message>
        <source>a token id from 0 to %1, a list of such ids, or null</source>
        <comment>a_token_id_or_list</comment>
        <translation>một mã token từ 0 đến %1, một danh sách các mã đó, hoặc null</translation>
    </message>
    <message>
        <source>a token id from 0 to %1, a list of such ids, or null, but the list holds %2</source>
        <comment>a_token_id_or_list_but</comment>
        <translation>một mã token từ 0 đến %1, một danh sách các mã đó, hoặc null, nhưng danh sách chứa %2</translation>
    </message>
    <message>
        <source>one token id, or null</source>
        <comment>one_token_id_or_null</comment>
        <translation>một mã token, hoặc null</translation>
    </message>
    <message>
        <source>a divisor of %1 (%2); without the key it is %3</source>
        <comment>a_divisor_without_key</comment>
        <translation>một ước số của %1 (%2); nếu không có khóa này thì là %3</translation>
    </message>
    <message>
        <source>an even number, for rotary positions</source>
        <comment>an_even_number_for_rope</comment>
        <translation>một số chẵn, cho vị trí xoay</translation>
    </message>
    <message>
        <source>an even multiple of %1 (%2), or a &quot;head_dim&quot; beside it</source>
        <comment>an_even_multiple</comment>
        <translation>một bội số chẵn của %1 (%2), hoặc có thêm &quot;head_dim&quot;</translation>
    </message>
    <message>
        <source>%1: layers, experts, &quot;hidden_size&quot; and &quot;intermediate_size&quot; together make more than 2^60 weights; expected a model that fits a machine</source>
        <comment>model_too_large_to_count</comment>
        <translation>%1: số lớp, số chuyên gia, &quot;hidden_size&quot; và &quot;intermediate_size&quot; cộng lại cho hơn 2^60 trọng số; cần một mô hình vừa với máy tính</translation>
    </message>
    <message>
        <source>a list of at most %1 token ids</source>
        <comment>at_most_so_many_tokens</comment>
        <translation>một danh sách có tối đa %1 số hiệu token</translation>
    </message>
    <message>
        <source>%1: %2 layers with %3 experts each make %4 experts; expected at most %5 in all layers together</source>
        <comment>too_many_experts_in_all</comment>
        <translation>%1: %2 lớp, mỗi lớp %3 chuyên gia, thành %4 chuyên gia; mong đợi: tối đa %5 trong tất cả các lớp</translation>
    </message>
    <message>
        <source>heads of more than two rotated values for &quot;dynamic&quot;</source>
        <comment>more_than_one_pair_for_dynamic</comment>
        <translation>đầu có hơn hai giá trị được xoay khi dùng &quot;dynamic&quot;</translation>
    </message>
    <message>
        <source>%1: &quot;rope_freqs.weight&quot; beside positions of type %2 is not supported; expected one of them</source>
        <comment>rope_factors_beside</comment>
        <translation>%1: &quot;rope_freqs.weight&quot; bên cạnh vị trí kiểu %2 không được hỗ trợ; mong đợi: một trong hai</translation>
    </message>
    <message>
        <source>%1: &quot;tie_word_embeddings&quot; is true, but tensor %2 has other values than %3. It is used as the output head, as transformers does.</source>
        <comment>tied_head_differs</comment>
        <translation>%1: &quot;tie_word_embeddings&quot; là true, nhưng tensor %2 có giá trị khác với %3. Nó được dùng làm đầu ra, giống như transformers.</translation>
    </message>
    <message>
        <source>Tensors of the model&apos;s layers are not used (%1, tensors: %2), the first is %3: config.json does not ask for them, and transformers leaves them out as well. If the model was trained with them, config.json lacks a field, such as &quot;attention_bias&quot;.</source>
        <comment>unused_layer_tensors</comment>
        <translation>Các tensor trong các lớp của mô hình không được dùng (%1, số tensor: %2), tensor đầu tiên là %3: config.json không yêu cầu chúng, và transformers cũng bỏ qua chúng. Nếu mô hình được huấn luyện với chúng thì config.json thiếu một trường, ví dụ &quot;attention_bias&quot;.</translation>
    </message>
    <message>
        <source>The synthetic model&apos;s %1 is &quot;%2&quot;; expected a whole number from %3 to %4.</source>
        <comment>synthetic_option_out_of_range</comment>
        <translation>Ở mô hình tổng hợp, %1 là &quot;%2&quot;; cần một số nguyên từ %3 đến %4.</translation>
    </message>
    <message>
        <source>There is no synthetic model &quot;%1&quot;; expected one of %2.</source>
        <comment>no_such_synthetic_model</comment>
        <translation>Không có mô hình tổng hợp &quot;%1&quot;; cần một trong %2.</translation>
    </message>
    <message>
        <source>a divisor of the number of experts (%1)</source>
        <comment>a_divisor_of_experts</comment>
        <translation>một ước của số chuyên gia (%1)</translation>
    </message>
    <message>
        <source>a share of the %1 values of a head that is an even number</source>
        <comment>an_even_share_of_head</comment>
        <translation>một phần của %1 giá trị trong một đầu, là số chẵn</translation>
    </message>
    <message>
        <source>a list of %1 numbers from 1e-6 to 1e6</source>
        <comment>a_list_of_rope_factors</comment>
        <translation>danh sách %1 số từ 1e-6 đến 1e6</translation>
    </message>
    <message>
        <source>a list of %1 numbers from 1e-6 to 1e6, but the list holds %2</source>
        <comment>a_list_of_rope_factors_but</comment>
        <translation>danh sách %1 số từ 1e-6 đến 1e6, nhưng danh sách chứa %2</translation>
    </message>
    <message>
        <source>2: SparseMixer chooses two</source>
        <comment>two_for_sparsemixer</comment>
        <translation>2: SparseMixer chọn hai</translation>
    </message>
    <message>
        <source>a list of %1 times %2 or %3</source>
        <comment>a_list_of_layer_types</comment>
        <translation>danh sách gồm %1 lần %2 hoặc %3</translation>
    </message>
    <message>
        <source>a list of %1 times %2 or %3, but the list holds %4</source>
        <comment>a_list_of_layer_types_but</comment>
        <translation>danh sách gồm %1 lần %2 hoặc %3, nhưng danh sách chứa %4</translation>
    </message>
    <message>
        <source>a model with at least one layer of &quot;full_attention&quot;</source>
        <comment>a_model_with_full_attention</comment>
        <translation>mô hình có ít nhất một lớp &quot;full_attention&quot;</translation>
    </message>
    <message>
        <source>1 or null</source>
        <comment>one_or_null</comment>
        <translation>1 hoặc null</translation>
    </message>
    <message>
        <source>The positions of this model change beyond %1 tokens, so a context of %2 cannot be had while it is loaded; load it again with that context.</source>
        <comment>positions_change_beyond</comment>
        <translation>Vị trí của mô hình này thay đổi sau %1 token, nên không thể dùng ngữ cảnh %2 khi mô hình đang được nạp; hãy nạp lại với ngữ cảnh đó.</translation>
    </message>
    <message>
        <source>as many groups as hold &quot;num_experts_per_tok&quot; (%1) experts</source>
        <comment>as_many_groups_as_hold</comment>
        <translation>đủ số nhóm để chứa &quot;num_experts_per_tok&quot; (%1) chuyên gia</translation>
    </message>
    <message>
        <source>a number above 1 for rope type &quot;yarn&quot;</source>
        <comment>a_number_above_one_for_yarn</comment>
        <translation>một số lớn hơn 1 cho kiểu rope &quot;yarn&quot;</translation>
    </message>
    <message>
        <source>a list of layers from 0 to %1</source>
        <comment>a_list_of_layers</comment>
        <translation>một danh sách các lớp từ 0 đến %1</translation>
    </message>
    <message>
        <source>a list of layers from 0 to %1, but the list holds %2</source>
        <comment>a_list_of_layers_but</comment>
        <translation>một danh sách các lớp từ 0 đến %1, nhưng danh sách chứa %2</translation>
    </message>
    <message>
        <source>%1: no layer has experts; expected a Mixture-of-Experts model</source>
        <comment>no_layer_has_experts</comment>
        <translation>%1: không lớp nào có chuyên gia; cần một mô hình Mixture-of-Experts</translation>
    </message>
    <message>
        <source>one of %1</source>
        <comment>one_of</comment>
        <translation>một trong %1</translation>
    </message>
    <message>
        <source>A synthetic model has no option &quot;%1&quot;; expected layers=N, active=A, window=W, vocab=V, type=T or seed=S.</source>
        <comment>no_such_synthetic_option</comment>
        <translation>Mô hình tổng hợp không có tùy chọn &quot;%1&quot;; cần layers=N, active=A, window=W, vocab=V, type=T hoặc seed=S.</translation>
    </message>
    <message>
        <source>A synthetic model&apos;s type is &quot;%1&quot;; expected one of %2.</source>
        <comment>no_such_synthetic_type</comment>
        <translation>Kiểu của mô hình tổng hợp là &quot;%1&quot;; cần một trong %2.</translation>
    </message>
    <message>
        <source>%1 has blocks of %2 weights, and the experts of %3 have rows of %4 and %5; expected a type whose blocks fit.</source>
        <comment>synthetic_type_does_not_fit</comment>
        <translation>%1 có các khối %2 trọng số, còn các chuyên gia của %3 có hàng %4 và %5; cần một kiểu có khối vừa với chúng.</translation>
    </message>
    <message>
        <source>Latent attention has no window; expected a synthetic model without it, not %1.</source>
        <comment>no_window_with_latent_attention</comment>
        <translation>Cơ chế chú ý tiềm ẩn không có cửa sổ; cần một mô hình tổng hợp không dùng nó, không phải %1.</translation>
    </message>
    <message>
        <source>%1: holds no weights; expected model.safetensors, or model.safetensors.index.json with its shards, or one *.safetensors file</source>
        <comment>no_weights</comment>
        <translation>%1: không chứa trọng số nào; cần có model.safetensors, hoặc model.safetensors.index.json cùng các tệp phần, hoặc một tệp *.safetensors</translation>
    </message>
    <message>
        <source>%1: holds %2 *.safetensors files (%3 ...) and no model.safetensors.index.json; expected model.safetensors, or model.safetensors.index.json with its shards, or one *.safetensors file</source>
        <comment>many_safetensors_no_index</comment>
        <translation>%1: chứa %2 tệp *.safetensors (%3 ...) nhưng không có model.safetensors.index.json; cần có model.safetensors, hoặc model.safetensors.index.json cùng các tệp phần, hoặc một tệp *.safetensors</translation>
    </message>
    <message>
        <source>%1: no such file or folder; expected a model&apos;s folder or a *.safetensors file</source>
        <comment>no_such_checkpoint</comment>
        <translation>%1: không có tệp hay thư mục này; cần thư mục của mô hình hoặc một tệp *.safetensors</translation>
    </message>
    <message>
        <source>%1: not enough memory for the list of its tensors</source>
        <comment>no_memory_for_tensor_list</comment>
        <translation>%1: không đủ bộ nhớ cho danh sách tensor của tệp</translation>
    </message>
    <message>
        <source>%1: tensor %2 is missing; expected it with shape %3</source>
        <comment>tensor_missing</comment>
        <translation>%1: thiếu tensor %2; cần tensor này với kích thước %3</translation>
    </message>
    <message>
        <source>%1: tensor %2 has shape %3; expected %4</source>
        <comment>tensor_shape_differs</comment>
        <translation>%1: tensor %2 có kích thước %3; cần %4</translation>
    </message>
    <message>
        <source>%1: tensor %2 does not begin at a multiple of %3 bytes; expected an aligned file, as current writers make</source>
        <comment>tensor_not_aligned</comment>
        <translation>%1: tensor %2 không bắt đầu tại bội số của %3 byte; cần một tệp được căn chỉnh như các chương trình hiện nay ghi ra</translation>
    </message>
    <message>
        <source>%1: became shorter while it was opened; expected a file that nobody writes to</source>
        <comment>file_became_shorter</comment>
        <translation>%1: bị ngắn đi trong lúc mở; cần một tệp không có ai đang ghi</translation>
    </message>
    <message>
        <source>%1: tensor %2 is missing; expected it here, because %3 says so</source>
        <comment>tensor_missing_by_index</comment>
        <translation>%1: thiếu tensor %2; tensor này phải ở đây vì %3 ghi như vậy</translation>
    </message>
    <message>
        <source>%1: tensor %2 is missing; expected it here, because %3 says so (and %4 more)</source>
        <comment>tensors_missing_by_index</comment>
        <translation>%1: thiếu tensor %2; tensor này phải ở đây vì %3 ghi như vậy (và thiếu thêm %4)</translation>
    </message>
    <message>
        <source>%1: is missing; expected it, because %2 names it for tensor %3 (%4 in all)</source>
        <comment>shard_missing</comment>
        <translation>%1: không có; cần tệp này vì %2 ghi nó cho tensor %3 (tổng cộng %4)</translation>
    </message>
    <message>
        <source>an object that gives the file of each tensor</source>
        <comment>an_object_of_tensor_files</comment>
        <translation>một đối tượng cho biết tệp của từng tensor</translation>
    </message>
    <message>
        <source>%1: &quot;weight_map&quot;: the file of tensor %2 is %3; expected the name of a file in the same folder</source>
        <comment>shard_name_invalid</comment>
        <translation>%1: &quot;weight_map&quot;: tệp của tensor %2 là %3; cần tên của một tệp trong cùng thư mục</translation>
    </message>
    <message>
        <source>%1: says that its header has %2 bytes; expected a safetensors header of at most %3</source>
        <comment>safetensors_header_too_long</comment>
        <translation>%1: ghi rằng phần đầu có %2 byte; cần phần đầu safetensors tối đa %3</translation>
    </message>
    <message>
        <source>%1 (it looks like a Git LFS pointer: fetch the file itself, &quot;git lfs pull&quot;)</source>
        <comment>looks_like_lfs_pointer</comment>
        <translation>%1 (trông giống con trỏ Git LFS: hãy tải chính tệp đó, &quot;git lfs pull&quot;)</translation>
    </message>
    <message>
        <source>%1 (it looks like a GGUF file)</source>
        <comment>looks_like_gguf</comment>
        <translation>%1 (trông giống tệp GGUF)</translation>
    </message>
    <message>
        <source>%1 (it looks like a PyTorch or zip file)</source>
        <comment>looks_like_pytorch</comment>
        <translation>%1 (trông giống tệp PyTorch hoặc zip)</translation>
    </message>
    <message>
        <source>%1 (it looks like a web page)</source>
        <comment>looks_like_web_page</comment>
        <translation>%1 (trông giống một trang web)</translation>
    </message>
    <message>
        <source>%1: has a size in bytes of %2 after its header; expected %3, which its tensors take</source>
        <comment>safetensors_data_left_over</comment>
        <translation>%1: có %2 byte sau phần đầu; cần đúng %3 byte của các tensor</translation>
    </message>
    <message>
        <source>%1: the safetensors header begins with %2; expected &quot;{&quot;</source>
        <comment>safetensors_header_begins</comment>
        <translation>%1: phần đầu safetensors bắt đầu bằng %2; cần &quot;{&quot;</translation>
    </message>
    <message>
        <source>%1: the safetensors header is not valid JSON: a NUL byte at byte %2 of the header; expected JSON in UTF-8</source>
        <comment>safetensors_header_nul_byte</comment>
        <translation>%1: phần đầu safetensors không phải JSON hợp lệ: có byte NUL tại byte %2 của phần đầu; cần JSON ở dạng UTF-8</translation>
    </message>
    <message>
        <source>%1: the safetensors header is not valid JSON at byte %2 of the header; expected JSON in UTF-8</source>
        <comment>safetensors_header_invalid</comment>
        <translation>%1: phần đầu safetensors không phải JSON hợp lệ tại byte %2 của phần đầu; cần JSON ở dạng UTF-8</translation>
    </message>
    <message>
        <source>%1: the safetensors header is %2; expected a JSON object of tensors</source>
        <comment>safetensors_header_no_object</comment>
        <translation>%1: phần đầu safetensors là %2; cần một đối tượng JSON gồm các tensor</translation>
    </message>
    <message>
        <source>%1: &quot;__metadata__&quot; appears twice; expected once</source>
        <comment>metadata_twice</comment>
        <translation>%1: &quot;__metadata__&quot; xuất hiện hai lần; chỉ được một lần</translation>
    </message>
    <message>
        <source>%1: &quot;__metadata__&quot; has the key %2 twice; expected once</source>
        <comment>metadata_key_twice</comment>
        <translation>%1: &quot;__metadata__&quot; có khóa %2 hai lần; chỉ được một lần</translation>
    </message>
    <message>
        <source>%1: &quot;__metadata__&quot; is %2; expected an object of texts</source>
        <comment>metadata_no_object</comment>
        <translation>%1: &quot;__metadata__&quot; là %2; cần một đối tượng gồm các đoạn văn bản</translation>
    </message>
    <message>
        <source>%1: &quot;__metadata__&quot;: key %2 is %3; expected a text</source>
        <comment>metadata_value_no_text</comment>
        <translation>%1: &quot;__metadata__&quot;: khóa %2 là %3; cần một đoạn văn bản</translation>
    </message>
    <message>
        <source>%1: tensor %2 appears twice; expected each name once</source>
        <comment>tensor_twice</comment>
        <translation>%1: tensor %2 xuất hiện hai lần; mỗi tên chỉ được một lần</translation>
    </message>
    <message>
        <source>%1: tensor %2 has %3 twice; expected once</source>
        <comment>tensor_field_twice</comment>
        <translation>%1: tensor %2 có %3 hai lần; chỉ được một lần</translation>
    </message>
    <message>
        <source>%1: tensor %2: dtype %3 is not known; expected one of the safetensors format, such as &quot;BF16&quot;, &quot;F16&quot; or &quot;F32&quot;</source>
        <comment>tensor_type_unknown</comment>
        <translation>%1: tensor %2: không biết kiểu dữ liệu %3; cần một kiểu của định dạng safetensors, như &quot;BF16&quot;, &quot;F16&quot; hoặc &quot;F32&quot;</translation>
    </message>
    <message>
        <source>%1: tensor %2 has a field %3; expected only &quot;dtype&quot;, &quot;shape&quot; and &quot;data_offsets&quot;</source>
        <comment>tensor_field_unknown</comment>
        <translation>%1: tensor %2 có trường %3; chỉ được có &quot;dtype&quot;, &quot;shape&quot; và &quot;data_offsets&quot;</translation>
    </message>
    <message>
        <source>%1: tensor %2 has no &quot;dtype&quot;; expected one, such as &quot;BF16&quot;</source>
        <comment>tensor_without_dtype</comment>
        <translation>%1: tensor %2 không có &quot;dtype&quot;; cần có, như &quot;BF16&quot;</translation>
    </message>
    <message>
        <source>%1: tensor %2 has no &quot;shape&quot;; expected a list of integers</source>
        <comment>tensor_without_shape</comment>
        <translation>%1: tensor %2 không có &quot;shape&quot;; cần một danh sách số nguyên</translation>
    </message>
    <message>
        <source>%1: tensor %2 has no &quot;data_offsets&quot;; expected [begin, end]</source>
        <comment>tensor_without_offsets</comment>
        <translation>%1: tensor %2 không có &quot;data_offsets&quot;; cần [đầu, cuối]</translation>
    </message>
    <message>
        <source>%1: tensor %2 is %3; expected an object with &quot;dtype&quot;, &quot;shape&quot; and &quot;data_offsets&quot;</source>
        <comment>tensor_no_object</comment>
        <translation>%1: tensor %2 là %3; cần một đối tượng có &quot;dtype&quot;, &quot;shape&quot; và &quot;data_offsets&quot;</translation>
    </message>
    <message>
        <source>%1: tensor %2 &quot;dtype&quot; is %3; expected a text such as &quot;BF16&quot;</source>
        <comment>tensor_dtype_no_text</comment>
        <translation>%1: tensor %2: &quot;dtype&quot; là %3; cần một đoạn văn bản như &quot;BF16&quot;</translation>
    </message>
    <message>
        <source>%1: tensor %2 &quot;shape&quot; is %3; expected a list of integers</source>
        <comment>tensor_shape_no_list</comment>
        <translation>%1: tensor %2: &quot;shape&quot; là %3; cần một danh sách số nguyên</translation>
    </message>
    <message>
        <source>%1: tensor %2 &quot;shape&quot; holds %3; expected integers from 0 to 2^63-1</source>
        <comment>tensor_shape_value</comment>
        <translation>%1: tensor %2: &quot;shape&quot; chứa %3; cần các số nguyên từ 0 đến 2^63-1</translation>
    </message>
    <message>
        <source>%1: tensor %2 &quot;data_offsets&quot; is or holds %3; expected a list of 2 integers from 0 to 2^64-1</source>
        <comment>tensor_offsets_invalid</comment>
        <translation>%1: tensor %2: &quot;data_offsets&quot; là hoặc chứa %3; cần một danh sách 2 số nguyên từ 0 đến 2^64-1</translation>
    </message>
    <message>
        <source>%1: tensor %2 has more than %3 dimensions; expected fewer</source>
        <comment>tensor_too_many_dims</comment>
        <translation>%1: tensor %2 có hơn %3 chiều; cần ít hơn</translation>
    </message>
    <message>
        <source>%1: tensor %2 has &quot;data_offsets&quot; [%3, %4]; expected an end that is not before the begin</source>
        <comment>tensor_offsets_reversed</comment>
        <translation>%1: tensor %2 có &quot;data_offsets&quot; [%3, %4]; điểm cuối không được nằm trước điểm đầu</translation>
    </message>
    <message>
        <source>%1: tensor %2 has shape %3; expected one whose bytes fit 64 bits</source>
        <comment>tensor_too_many_bytes</comment>
        <translation>%1: tensor %2 có kích thước %3; cần kích thước có số byte vừa 64 bit</translation>
    </message>
    <message>
        <source>%1: tensor %2 has shape %3 and dtype %4; expected a whole number of bytes</source>
        <comment>tensor_no_whole_bytes</comment>
        <translation>%1: tensor %2 có kích thước %3 và kiểu dữ liệu %4; cần một số byte nguyên</translation>
    </message>
    <message>
        <source>%1: tensor %2 has a size in bytes of %3 by its &quot;data_offsets&quot;; expected %4 by its shape %5 and dtype %6</source>
        <comment>tensor_bytes_differ</comment>
        <translation>%1: tensor %2 có %3 byte theo &quot;data_offsets&quot;; cần %4 theo kích thước %5 và kiểu dữ liệu %6</translation>
    </message>
    <message>
        <source>%1: tensor %2 overlaps the one before it: its data begins at %3; expected %4</source>
        <comment>tensor_overlaps</comment>
        <translation>%1: tensor %2 chồng lên tensor trước: dữ liệu bắt đầu tại %3; cần %4</translation>
    </message>
    <message>
        <source>%1: tensor %2 leaves a hole: its data begins at %3; expected %4</source>
        <comment>tensor_leaves_hole</comment>
        <translation>%1: tensor %2 để lại khoảng trống: dữ liệu bắt đầu tại %3; cần %4</translation>
    </message>
    <message>
        <source>binary data</source>
        <comment>binary_data</comment>
        <translation>dữ liệu nhị phân</translation>
    </message>
    <message>
        <source>a list</source>
        <comment>a_list</comment>
        <translation>một danh sách</translation>
    </message>
    <message>
        <source>a list of more than 2</source>
        <comment>a_list_of_more_than_two</comment>
        <translation>một danh sách có hơn 2 phần tử</translation>
    </message>
    <message>
        <source>%1 has no room for %2: %3 were asked for, %4 are left of the budget of %5.</source>
        <comment>no_room</comment>
        <translation>%1 không còn chỗ cho %2: yêu cầu %3, còn lại %4 trong hạn mức %5.</translation>
    </message>
    <message>
        <source>%1 has no room for %2: %3 were asked for and not given, although %4 of the budget of %5 are left: other programs or a limit (ulimit, container) hold the rest. Close programs, raise the limit or lower the budget.</source>
        <comment>no_room_given</comment>
        <translation>%1 không còn chỗ cho %2: yêu cầu %3 nhưng không được cấp, dù hạn mức %5 còn lại %4: phần còn lại do chương trình khác hoặc một giới hạn (ulimit, container) giữ. Hãy đóng bớt chương trình, nâng giới hạn hoặc giảm hạn mức.</translation>
    </message>
    <message>
        <source>%1 has no room for copies on demand: %2</source>
        <comment>no_room_for_copies</comment>
        <translation>%1 không còn chỗ cho các bản sao khi cần: %2</translation>
    </message>
    <message>
        <source>A budget of %1 is too small for %2: %3 are in use.</source>
        <comment>budget_below_use</comment>
        <translation>Hạn mức %1 quá nhỏ cho %2: đang dùng %3.</translation>
    </message>
    <message>
        <source>There is no memory for %1: %2 were asked for. Close other programs or choose a smaller model.</source>
        <comment>no_memory_for</comment>
        <translation>Không có bộ nhớ cho %1: yêu cầu %2. Hãy đóng các chương trình khác hoặc chọn mô hình nhỏ hơn.</translation>
    </message>
    <message>
        <source>an expert</source>
        <comment>an_expert</comment>
        <translation>một chuyên gia</translation>
    </message>
    <message>
        <source>experts on their way</source>
        <comment>experts_on_their_way</comment>
        <translation>các chuyên gia đang được chuyển</translation>
    </message>
    <message>
        <source>experts read from disk</source>
        <comment>experts_read_from_disk</comment>
        <translation>các chuyên gia đọc từ đĩa</translation>
    </message>
    <message>
        <source>packing experts</source>
        <comment>packing_experts</comment>
        <translation>việc đóng gói chuyên gia</translation>
    </message>
    <message>
        <source>the dense weights</source>
        <comment>the_dense_weights</comment>
        <translation>trọng số dày đặc</translation>
    </message>
    <message>
        <source>routing</source>
        <comment>routing</comment>
        <translation>định tuyến</translation>
    </message>
    <message>
        <source>guesses</source>
        <comment>guesses</comment>
        <translation>các phỏng đoán</translation>
    </message>
    <message>
        <source>activations</source>
        <comment>activations</comment>
        <translation>các giá trị kích hoạt</translation>
    </message>
    <message>
        <source>dense weights</source>
        <comment>dense_weights</comment>
        <translation>trọng số dày đặc</translation>
    </message>
    <message>
        <source>dense weights in fewer bits</source>
        <comment>dense_weights_in_fewer_bits</comment>
        <translation>trọng số dày đặc với ít bit hơn</translation>
    </message>
    <message>
        <source>a layer&apos;s intermediate results</source>
        <comment>intermediate_results</comment>
        <translation>kết quả trung gian của một lớp</translation>
    </message>
    <message>
        <source>rows of a dense network</source>
        <comment>rows_of_a_dense_network</comment>
        <translation>các hàng của một mạng dày đặc</translation>
    </message>
    <message>
        <source>&quot;softmax&quot; or &quot;sigmoid&quot;</source>
        <comment>softmax_or_sigmoid</comment>
        <translation>&quot;softmax&quot; hoặc &quot;sigmoid&quot;</translation>
    </message>
    <message>
        <source>&quot;greedy&quot;, &quot;group_limited_greedy&quot; or &quot;noaux_tc&quot;</source>
        <comment>topk_methods</comment>
        <translation>&quot;greedy&quot;, &quot;group_limited_greedy&quot; hoặc &quot;noaux_tc&quot;</translation>
    </message>
    <message>
        <source>the experts&apos; inputs</source>
        <comment>expert_inputs</comment>
        <translation>đầu vào của các chuyên gia</translation>
    </message>
    <message>
        <source>the experts&apos; outputs</source>
        <comment>expert_outputs</comment>
        <translation>đầu ra của các chuyên gia</translation>
    </message>
    <message>
        <source>a step&apos;s inputs</source>
        <comment>step_inputs</comment>
        <translation>đầu vào của một bước</translation>
    </message>
    <message>
        <source>the scratch memory of a step</source>
        <comment>step_scratch_memory</comment>
        <translation>bộ nhớ tạm của một bước</translation>
    </message>
    <message>
        <source>the KV cache (%1 there in all)</source>
        <comment>kv_cache_of_all</comment>
        <translation>bộ nhớ đệm KV (tổng cộng %1 ở đó)</translation>
    </message>
    <message>
        <source>calibration</source>
        <comment>calibration</comment>
        <translation>việc hiệu chuẩn</translation>
    </message>
    <message>
        <source>measuring</source>
        <comment>measuring</comment>
        <translation>việc đo</translation>
    </message>
    <message>
        <source>Measuring the memory&apos;s bandwidth</source>
        <comment>measuring_memory_bandwidth</comment>
        <translation>Việc đo băng thông bộ nhớ</translation>
    </message>
    <message>
        <source>Quantizing an expert</source>
        <comment>quantizing_an_expert</comment>
        <translation>Việc lượng tử hóa một chuyên gia</translation>
    </message>
    <message>
        <source>buffers on the way to the GPU&apos;s quantizer</source>
        <comment>gpu_quantizer_buffers</comment>
        <translation>vùng đệm trên đường đến bộ lượng tử hóa của GPU</translation>
    </message>
    <message>
        <source>There is no device %1; expected cpu, cuda, cuda:N or emulated:PROFILE.</source>
        <comment>no_such_device</comment>
        <translation>Không có thiết bị %1; cần cpu, cuda, cuda:N hoặc emulated:PROFILE.</translation>
    </message>
    <message>
        <source>OFFSTAGE_ISA is &quot;%1&quot;; expected one that this processor has and this Offstage was compiled for: %2. -DOFFSTAGE_INSTRUCTION_SETS=all compiles it for all.</source>
        <comment>no_such_instruction_set</comment>
        <translation>OFFSTAGE_ISA là &quot;%1&quot;; cần một tập lệnh mà bộ xử lý này có và bản Offstage này đã được biên dịch cho: %2. -DOFFSTAGE_INSTRUCTION_SETS=all biên dịch cho tất cả.</translation>
    </message>
    <message>
        <source>This Offstage was compiled for another processor: it computes with %1 where this one has %2, and is slower for it. installer/run compiles it for this one.</source>
        <comment>compiled_for_another_processor</comment>
        <translation>Bản Offstage này được biên dịch cho một bộ xử lý khác: nó tính bằng %1 trong khi bộ xử lý này có %2, nên chậm hơn. installer/run biên dịch lại cho bộ xử lý này.</translation>
    </message>
    <message>
        <source>OFFSTAGE_THREADS is &quot;%1&quot;; expected a number from 1 to 1024.</source>
        <comment>threads_variable_invalid</comment>
        <translation>OFFSTAGE_THREADS là &quot;%1&quot;; cần một số từ 1 đến 1024.</translation>
    </message>
    <message>
        <source>%1 has %2 in all, less than the %3 asked for.</source>
        <comment>device_memory_too_small</comment>
        <translation>%1 có tổng cộng %2, ít hơn %3 được yêu cầu.</translation>
    </message>
    <message>
        <source>%1 has %2 free, less than the %3 asked for.</source>
        <comment>device_memory_not_free</comment>
        <translation>%1 còn trống %2, ít hơn %3 được yêu cầu.</translation>
    </message>
    <message>
        <source>The device %1 cannot be opened: %2.</source>
        <comment>device_cannot_be_opened</comment>
        <translation>Không mở được thiết bị %1: %2.</translation>
    </message>
    <message>
        <source>this machine shows %1 NVIDIA GPU(s), counted from 0</source>
        <comment>machine_has_gpus</comment>
        <translation>máy tính này có %1 GPU NVIDIA, đếm từ 0</translation>
    </message>
    <message>
        <source>it is not described: %1</source>
        <comment>gpu_not_described</comment>
        <translation>thiết bị không được mô tả: %1</translation>
    </message>
    <message>
        <source>%1 has compute capability %2.%3, and 7.5 is the least that Offstage serves</source>
        <comment>gpu_too_old</comment>
        <translation>%1 có compute capability %2.%3, còn Offstage cần ít nhất 7.5</translation>
    </message>
    <message>
        <source>%1 does not open: %2</source>
        <comment>gpu_does_not_open</comment>
        <translation>%1 không mở được: %2</translation>
    </message>
    <message>
        <source>no NVIDIA driver is loaded</source>
        <comment>no_nvidia_driver</comment>
        <translation>chưa nạp trình điều khiển NVIDIA</translation>
    </message>
    <message>
        <source>the NVIDIA driver serves CUDA %1, and this Offstage was built with %2</source>
        <comment>nvidia_driver_too_old</comment>
        <translation>trình điều khiển NVIDIA hỗ trợ CUDA %1, còn bản Offstage này được dựng với %2</translation>
    </message>
    <message>
        <source>the NVIDIA driver shows no GPU</source>
        <comment>nvidia_driver_shows_no_gpu</comment>
        <translation>trình điều khiển NVIDIA không thấy GPU nào</translation>
    </message>
    <message>
        <source>the NVIDIA driver reports: %1</source>
        <comment>nvidia_driver_reports</comment>
        <translation>trình điều khiển NVIDIA báo: %1</translation>
    </message>
    <message>
        <source>the NVIDIA driver does not describe its GPUs</source>
        <comment>nvidia_driver_describes_nothing</comment>
        <translation>trình điều khiển NVIDIA không mô tả các GPU của nó</translation>
    </message>
    <message>
        <source>The GPU cannot be selected any more.</source>
        <comment>gpu_cannot_be_selected</comment>
        <translation>Không chọn được GPU nữa.</translation>
    </message>
    <message>
        <source>The GPU answers no more: %1. Offstage has to be started again.</source>
        <comment>gpu_answers_no_more</comment>
        <translation>GPU không còn phản hồi: %1. Cần khởi động lại Offstage.</translation>
    </message>
    <message>
        <source>The attention kernels serve keys of up to 576 numbers and values of up to 512; this model has %1 and %2.</source>
        <comment>attention_too_wide_for_gpu</comment>
        <translation>Phần tính attention hỗ trợ khóa tối đa 576 số và giá trị tối đa 512 số; mô hình này có %1 và %2.</translation>
    </message>
    <message>
        <source>The router&apos;s kernel serves up to 4096 experts, all different, in up to 64 groups.</source>
        <comment>router_too_large_for_gpu</comment>
        <translation>Phần tính của bộ định tuyến hỗ trợ tối đa 4096 chuyên gia, tất cả khác nhau, trong tối đa 64 nhóm.</translation>
    </message>
    <message>
        <source>%1 failed while it computed: %2 The next answer may succeed.</source>
        <comment>device_failed_once</comment>
        <translation>%1 gặp lỗi khi đang tính: %2 Câu trả lời tiếp theo có thể thành công.</translation>
    </message>
    <message>
        <source>%1 failed while it computed: %2 Load the model again, or choose another device.</source>
        <comment>device_failed_for_good</comment>
        <translation>%1 gặp lỗi khi đang tính: %2 Hãy nạp lại mô hình hoặc chọn thiết bị khác.</translation>
    </message>
    <message>
        <source>Copying the dense weights to %1 failed: %2</source>
        <comment>copying_dense_weights_failed</comment>
        <translation>Không sao chép được trọng số dày đặc sang %1: %2</translation>
    </message>
    <message>
        <source>Copying the experts to %1 failed: %2</source>
        <comment>copying_experts_failed</comment>
        <translation>Không sao chép được các chuyên gia sang %1: %2</translation>
    </message>
    <message>
        <source>There is no hardware profile %1.</source>
        <comment>no_such_profile</comment>
        <translation>Không có hồ sơ phần cứng %1.</translation>
    </message>
    <message>
        <source>There is no hardware profile %1; none was found in %2.</source>
        <comment>no_such_profile_none_in</comment>
        <translation>Không có hồ sơ phần cứng %1; không tìm thấy hồ sơ nào trong %2.</translation>
    </message>
    <message>
        <source>There is no hardware profile %1; there are %2, or name a .json file.</source>
        <comment>no_such_profile_there_are</comment>
        <translation>Không có hồ sơ phần cứng %1; hiện có %2, hoặc hãy nêu tên một tệp .json.</translation>
    </message>
    <message>
        <source>There is no hardware profile to make forecasts with; expected one in %1.</source>
        <comment>no_profile_for_forecasts</comment>
        <translation>Không có hồ sơ phần cứng nào để dự báo; cần một hồ sơ trong %1.</translation>
    </message>
    <message>
        <source>%1: %2 is no key of a hardware profile; expected one of %3</source>
        <comment>profile_key_unknown</comment>
        <translation>%1: %2 không phải khóa của hồ sơ phần cứng; cần một trong %3</translation>
    </message>
    <message>
        <source>%1: larger than 1 MiB; expected a hardware profile</source>
        <comment>profile_too_large</comment>
        <translation>%1: lớn hơn 1 MiB; cần một hồ sơ phần cứng</translation>
    </message>
    <message>
        <source>a text that is not empty</source>
        <comment>a_text_not_empty</comment>
        <translation>một đoạn văn bản không rỗng</translation>
    </message>
    <message>
        <source>at least what the CPU reads alone (read_gbps)</source>
        <comment>at_least_the_cpus_rate</comment>
        <translation>ít nhất bằng tốc độ CPU đọc một mình (read_gbps)</translation>
    </message>
    <message>
        <source>Drawing weights</source>
        <comment>drawing_weights</comment>
        <translation>Đang tạo trọng số</translation>
    </message>
    <message>
        <source>Packing weights</source>
        <comment>packing_weights</comment>
        <translation>Đang đóng gói trọng số</translation>
    </message>
    <message>
        <source>Measuring this machine</source>
        <comment>measuring_this_machine</comment>
        <translation>Đang đo máy tính này</translation>
    </message>
    <message>
        <source>Measuring what fewer bits cost</source>
        <comment>measuring_what_fewer_bits_cost</comment>
        <translation>Đang đo cái giá của việc dùng ít bit hơn</translation>
    </message>
    <message>
        <source>Loading was cancelled.</source>
        <comment>loading_cancelled</comment>
        <translation>Đã hủy việc nạp.</translation>
    </message>
    <message>
        <source>Packing an expert was cancelled.</source>
        <comment>packing_cancelled</comment>
        <translation>Đã hủy việc đóng gói một chuyên gia.</translation>
    </message>
    <message>
        <source>Quantizing was cancelled.</source>
        <comment>quantizing_cancelled</comment>
        <translation>Đã hủy việc lượng tử hóa.</translation>
    </message>
    <message>
        <source>Measuring the disk was cancelled.</source>
        <comment>measuring_disk_cancelled</comment>
        <translation>Đã hủy việc đo đĩa.</translation>
    </message>
    <message>
        <source>Measuring the quantization was cancelled.</source>
        <comment>measuring_quantization_cancelled</comment>
        <translation>Đã hủy việc đo lượng tử hóa.</translation>
    </message>
    <message>
        <source>The calibration was cancelled.</source>
        <comment>calibration_cancelled</comment>
        <translation>Đã hủy việc hiệu chuẩn.</translation>
    </message>
    <message>
        <source>%1 failed while it was being calibrated: %2</source>
        <comment>device_failed_in_calibration</comment>
        <translation>%1 gặp lỗi khi đang hiệu chuẩn: %2</translation>
    </message>
    <message>
        <source>%1 refused to copy an expert while it was being calibrated.</source>
        <comment>device_refused_copy_in_calibration</comment>
        <translation>%1 từ chối sao chép một chuyên gia khi đang hiệu chuẩn.</translation>
    </message>
    <message>
        <source>There is no memory for the calibration&apos;s activations.</source>
        <comment>no_memory_for_calibration</comment>
        <translation>Không có bộ nhớ cho các giá trị kích hoạt khi hiệu chuẩn.</translation>
    </message>
    <message>
        <source>%1 needs %2 of memory, but only %3 are free: %4 too little. Close other programs or choose a smaller model.</source>
        <comment>memory_not_free</comment>
        <translation>%1 cần %2 bộ nhớ, nhưng chỉ còn trống %3: thiếu %4. Hãy đóng các chương trình khác hoặc chọn mô hình nhỏ hơn.</translation>
    </message>
    <message>
        <source>A VRAM budget was given, but the device is the CPU; name a GPU as the device, or limit RAM.</source>
        <comment>vram_budget_without_gpu</comment>
        <translation>Có đặt hạn mức VRAM nhưng thiết bị là CPU; hãy chọn GPU làm thiết bị, hoặc giới hạn RAM.</translation>
    </message>
    <message>
        <source>A VRAM budget was given, but the device is the CPU; name RAM.</source>
        <comment>vram_budget_without_gpu_now</comment>
        <translation>Có đặt hạn mức VRAM nhưng thiết bị là CPU; hãy đặt hạn mức RAM.</translation>
    </message>
    <message>
        <source>The RAM budget is %1, but only %2 are free; lower it.</source>
        <comment>ram_budget_not_free</comment>
        <translation>Hạn mức RAM là %1, nhưng chỉ còn trống %2; hãy giảm hạn mức.</translation>
    </message>
    <message>
        <source>The RAM budget is %1, but only %2 are there; lower it.</source>
        <comment>ram_budget_not_there</comment>
        <translation>Hạn mức RAM là %1, nhưng chỉ có %2; hãy giảm hạn mức.</translation>
    </message>
    <message>
        <source>The model takes %1 of RAM and %2 are free: little is left for anything else.</source>
        <comment>little_ram_left</comment>
        <translation>Mô hình chiếm %1 RAM trong khi còn trống %2: chẳng còn bao nhiêu cho việc khác.</translation>
    </message>
    <message>
        <source>The context is %1 tokens, and the model was made for %2: answers get worse beyond that.</source>
        <comment>context_beyond_trained</comment>
        <translation>Ngữ cảnh là %1 token, còn mô hình được làm cho %2: vượt quá mức đó, câu trả lời kém dần.</translation>
    </message>
    <message>
        <source>%1 compute threads were asked for, and this program may use %2 cores: more threads than cores make answers slower.</source>
        <comment>more_threads_than_cores</comment>
        <translation>Đã yêu cầu %1 luồng tính toán, còn chương trình này được dùng %2 nhân: nhiều luồng hơn số nhân làm câu trả lời chậm đi.</translation>
    </message>
    <message>
        <source>Free memory: %1.</source>
        <comment>free_memory</comment>
        <translation>Bộ nhớ còn trống: %1.</translation>
    </message>
    <message>
        <source>The VRAM budget is %1, but the %2 has only %3 to give; lower it.</source>
        <comment>vram_budget_too_large_for_the</comment>
        <translation>Hạn mức VRAM là %1, nhưng %2 chỉ cấp được %3; hãy giảm hạn mức.</translation>
    </message>
    <message>
        <source>The VRAM budget is %1, but %2 has only %3 to give; lower it.</source>
        <comment>vram_budget_too_large</comment>
        <translation>Hạn mức VRAM là %1, nhưng %2 chỉ cấp được %3; hãy giảm hạn mức.</translation>
    </message>
    <message>
        <source>The context is %1 tokens; expected 1 to %2, or 0 for the model&apos;s own.</source>
        <comment>context_out_of_range</comment>
        <translation>Ngữ cảnh là %1 token; cần từ 1 đến %2, hoặc 0 để dùng ngữ cảnh của mô hình.</translation>
    </message>
    <message>
        <source>One format for all experts was asked for and a floor of quality as well; choose one of them.</source>
        <comment>format_and_quality_asked</comment>
        <translation>Bạn yêu cầu cả một định dạng cho mọi chuyên gia lẫn một mức chất lượng tối thiểu; hãy chọn một trong hai.</translation>
    </message>
    <message>
        <source>A re-plan names one format for all experts and a floor of quality as well; choose one of them.</source>
        <comment>format_and_quality_in_replan</comment>
        <translation>Lần đổi phương án nêu cả một định dạng cho mọi chuyên gia lẫn một mức chất lượng tối thiểu; hãy chọn một trong hai.</translation>
    </message>
    <message>
        <source>Experts can have one format for all or a floor of quality, not both; expected one of them.</source>
        <comment>format_and_quality_in_plan</comment>
        <translation>Các chuyên gia có thể dùng một định dạng chung hoặc một mức chất lượng tối thiểu, không thể cả hai; cần một trong hai.</translation>
    </message>
    <message>
        <source>The experts of this model cannot be kept in %1; expected one of %2.</source>
        <comment>expert_format_impossible</comment>
        <translation>Không thể lưu các chuyên gia của mô hình này ở dạng %1; cần một trong %2.</translation>
    </message>
    <message>
        <source>The experts of this model cannot be kept in %1: that needs a hidden_size that is a multiple of 64, and it is %2; expected one of %3.</source>
        <comment>expert_format_needs_hidden_size</comment>
        <translation>Không thể giữ các chuyên gia của mô hình này ở %1: cần hidden_size là bội số của 64, nhưng giá trị này là %2; cần một trong %3.</translation>
    </message>
    <message>
        <source>Attention&apos;s %1 stay in %2: %3 needs rows of a multiple of 64 weights, and theirs have %4.</source>
        <comment>attention_matrices_stay</comment>
        <translation>Trong attention, %1 vẫn ở %2: %3 cần hàng có số trọng số là bội số của 64, nhưng các hàng này có %4.</translation>
    </message>
    <message>
        <source>matrices</source>
        <comment>matrices</comment>
        <translation>các ma trận</translation>
    </message>
    <message>
        <source>query, key and value matrices</source>
        <comment>qkv_matrices</comment>
        <translation>các ma trận query, key và value</translation>
    </message>
    <message>
        <source>output matrices</source>
        <comment>output_matrices</comment>
        <translation>các ma trận đầu ra</translation>
    </message>
    <message>
        <source>and dense networks&apos; matrices</source>
        <comment>and_dense_matrices</comment>
        <translation>các ma trận, cả của mạng dày đặc</translation>
    </message>
    <message>
        <source>No format of this model has %1 bits per weight; expected a floor of at most %2.</source>
        <comment>no_format_of_so_many_bits</comment>
        <translation>Không định dạng nào của mô hình này có %1 bit mỗi trọng số; mức tối thiểu chỉ được đến %2.</translation>
    </message>
    <message>
        <source>This model&apos;s experts cannot be %1: that needs rows of a multiple of 64 weights, and theirs have %2.</source>
        <comment>expert_rows_do_not_fit_format</comment>
        <translation>Các chuyên gia của mô hình này không thể ở dạng %1: dạng đó cần mỗi hàng là bội số của 64 trọng số, còn hàng của chúng có %2.</translation>
    </message>
    <message>
        <source>Dense weights cannot be %1; expected %2.</source>
        <comment>dense_format_unknown</comment>
        <translation>Trọng số dày đặc không thể ở dạng %1; cần %2.</translation>
    </message>
    <message>
        <source>Rows of %1 %2 weights cannot become %3; packed rows are made of plain weights, a multiple of 64 in each.</source>
        <comment>rows_cannot_be_packed</comment>
        <translation>Hàng gồm %1 trọng số %2 không thể chuyển thành %3; hàng đóng gói được tạo từ trọng số thường, mỗi hàng là bội số của 64.</translation>
    </message>
    <message>
        <source>A weight is infinite, not a number or beyond 1e15; such a tensor cannot be quantized.</source>
        <comment>weight_not_finite</comment>
        <translation>Có trọng số vô hạn, không phải là số hoặc vượt quá 1e15; không thể lượng tử hóa tensor như vậy.</translation>
    </message>
    <message>
        <source>There is no memory for an expert in the checkpoint&apos;s format while it is quantized.</source>
        <comment>no_memory_to_quantize_expert</comment>
        <translation>Không có bộ nhớ cho một chuyên gia ở định dạng của checkpoint trong lúc lượng tử hóa.</translation>
    </message>
    <message>
        <source>There is no memory for an expert while its quantization is measured.</source>
        <comment>no_memory_to_measure_expert</comment>
        <translation>Không có bộ nhớ cho một chuyên gia trong lúc đo việc lượng tử hóa nó.</translation>
    </message>
    <message>
        <source>Quantized experts could not be kept in %1 (%2), so they will be quantized anew when they are wanted again.</source>
        <comment>quantized_experts_not_kept</comment>
        <translation>Không lưu được các chuyên gia đã lượng tử hóa vào %1 (%2), nên chúng sẽ được lượng tử hóa lại khi cần.</translation>
    </message>
    <message>
        <source>What was measured could not be kept in %1 (%2), so it will be measured again when it is wanted again.</source>
        <comment>measurement_not_kept</comment>
        <translation>Không lưu được kết quả đo vào %1 (%2), nên sẽ đo lại khi cần.</translation>
    </message>
    <message>
        <source>an expert on the CPU</source>
        <comment>an_expert_on_the_cpu</comment>
        <translation>một chuyên gia trên CPU</translation>
    </message>
    <message>
        <source>an expert on the device</source>
        <comment>an_expert_on_the_device</comment>
        <translation>một chuyên gia trên thiết bị</translation>
    </message>
    <message>
        <source>the copy of an expert</source>
        <comment>an_experts_copy</comment>
        <translation>việc sao chép một chuyên gia</translation>
    </message>
    <message>
        <source>a token beside its experts</source>
        <comment>a_token_beside_its_experts</comment>
        <translation>một token ngoài các chuyên gia của nó</translation>
    </message>
    <message>
        <source>an expert from the disk</source>
        <comment>an_expert_from_the_disk</comment>
        <translation>một chuyên gia đọc từ đĩa</translation>
    </message>
    <message>
        <source>A cost kept of this computer did not hold and was measured again: %1 took %2 ms, and %3 ms were kept.</source>
        <comment>kept_cost_did_not_hold</comment>
        <translation>Một chi phí đã lưu của máy tính này không còn đúng và đã được đo lại: %1 mất %2 ms, trong khi giá trị đã lưu là %3 ms.</translation>
    </message>
    <message>
        <source>A token took %1 ms where %2 ms were forecast. The costs of this computer are measured again when the model is loaded next.</source>
        <comment>run_unlike_its_forecast</comment>
        <translation>Một token mất %1 ms, trong khi dự báo là %2 ms. Các chi phí của máy tính này sẽ được đo lại khi mô hình được tải lần tới.</translation>
    </message>
    <message>
        <source>one is larger than all that may be kept</source>
        <comment>larger_than_all_kept</comment>
        <translation>một chuyên gia lớn hơn toàn bộ dung lượng được phép lưu</translation>
    </message>
    <message>
        <source>Quantized experts are not kept in %1: %2 are free there, and %3 must stay free for other files.</source>
        <comment>quantized_experts_disk_full</comment>
        <translation>Các chuyên gia đã lượng tử hóa không được giữ trong %1: ở đó còn trống %2, mà %3 phải để trống cho các tệp khác.</translation>
    </message>
    <message>
        <source>%1 of quantized experts were removed from %2: %3 were free there, and %4 must stay free for other files.</source>
        <comment>quantized_experts_removed</comment>
        <translation>%1 chuyên gia đã lượng tử hóa bị xóa khỏi %2: ở đó còn trống %3, mà %4 phải để trống cho các tệp khác.</translation>
    </message>
    <message>
        <source>%1: there is no such popularity profile</source>
        <comment>no_such_popularity</comment>
        <translation>%1: không có hồ sơ độ phổ biến này</translation>
    </message>
    <message>
        <source>%1: the file is %2 bytes long; expected at most 16 MiB</source>
        <comment>popularity_too_large</comment>
        <translation>%1: tệp dài %2 byte; chỉ được tối đa 16 MiB</translation>
    </message>
    <message>
        <source>%1: &quot;counts&quot;[%2] is %3; expected %4</source>
        <comment>popularity_row_rejected</comment>
        <translation>%1: &quot;counts&quot;[%2] là %3; cần %4</translation>
    </message>
    <message>
        <source>%1: &quot;counts&quot;[%2][%3] is %4; expected %5</source>
        <comment>popularity_count_rejected</comment>
        <translation>%1: &quot;counts&quot;[%2][%3] là %4; cần %5</translation>
    </message>
    <message>
        <source>a list of %1 lists</source>
        <comment>a_list_of_lists_counted</comment>
        <translation>một danh sách gồm %1 danh sách</translation>
    </message>
    <message>
        <source>a list of %1 numbers</source>
        <comment>a_list_of_numbers_counted</comment>
        <translation>một danh sách gồm %1 số</translation>
    </message>
    <message>
        <source>a number from 0 to 1e15</source>
        <comment>a_count_to_1e15</comment>
        <translation>một số từ 0 đến 1e15</translation>
    </message>
    <message>
        <source>a list whose largest number is more than 1 / n_active of its sum</source>
        <comment>too_uneven_counts</comment>
        <translation>một danh sách có số lớn nhất hơn 1 / n_active của tổng</translation>
    </message>
    <message>
        <source>counts of tokens that choose n_active different experts each</source>
        <comment>counts_of_different_experts</comment>
        <translation>số đếm của các token, mỗi token chọn n_active chuyên gia khác nhau</translation>
    </message>
    <message>
        <source>%1 counts %2 layers of %3 experts, but %4 has %5 of %6; make a profile of this model (offstage-cli profile).</source>
        <comment>popularity_of_other_model</comment>
        <translation>%1 đếm %2 lớp, mỗi lớp %3 chuyên gia, nhưng %4 có %5 lớp, mỗi lớp %6; hãy tạo hồ sơ cho mô hình này (offstage-cli profile).</translation>
    </message>
    <message>
        <source>The popularity profile is of %1 layers of %2 experts, the model has %3 of %4; expected a profile of this model.</source>
        <comment>popularity_differs</comment>
        <translation>Hồ sơ độ phổ biến có %1 lớp, mỗi lớp %2 chuyên gia, còn mô hình có %3 lớp, mỗi lớp %4; cần hồ sơ của mô hình này.</translation>
    </message>
    <message>
        <source>No plan can be made: the model&apos;s number of experts is out of range.</source>
        <comment>plan_experts_out_of_range</comment>
        <translation>Không lập được phương án: số chuyên gia của mô hình vượt phạm vi.</translation>
    </message>
    <message>
        <source>No plan can be made: the model&apos;s number of active experts is out of range.</source>
        <comment>plan_active_out_of_range</comment>
        <translation>Không lập được phương án: số chuyên gia hoạt động của mô hình vượt phạm vi.</translation>
    </message>
    <message>
        <source>No plan can be made: the model&apos;s experts have no size.</source>
        <comment>plan_experts_without_size</comment>
        <translation>Không lập được phương án: các chuyên gia của mô hình không có kích thước.</translation>
    </message>
    <message>
        <source>No plan can be made: a format&apos;s experts have no size.</source>
        <comment>plan_format_without_size</comment>
        <translation>Không lập được phương án: các chuyên gia của một định dạng không có kích thước.</translation>
    </message>
    <message>
        <source>No plan can be made: the model&apos;s formats are too many.</source>
        <comment>plan_too_many_formats</comment>
        <translation>Không lập được phương án: mô hình có quá nhiều định dạng.</translation>
    </message>
    <message>
        <source>No plan can be made: the context is out of range.</source>
        <comment>plan_context_out_of_range</comment>
        <translation>Không lập được phương án: ngữ cảnh vượt phạm vi.</translation>
    </message>
    <message>
        <source>Memory is short: prompts are read in steps of %1 tokens.</source>
        <comment>short_memory_small_steps</comment>
        <translation>Thiếu bộ nhớ: lời nhắc được đọc theo từng bước %1 token.</translation>
    </message>
    <message>
        <source>The context is %1 tokens instead of %2, so that more experts fit in %3; a named context is kept.</source>
        <comment>context_shortened</comment>
        <translation>Ngữ cảnh là %1 token thay vì %2, để vừa thêm chuyên gia trong %3; ngữ cảnh do bạn đặt thì được giữ nguyên.</translation>
    </message>
    <message>
        <source>VRAM is short: of the context of %1 tokens %2 have their keys and values there; %3 of them lie in RAM.</source>
        <comment>vram_short_kv_in_ram</comment>
        <translation>Thiếu VRAM: trong ngữ cảnh %1 token, %2 token có key và value ở đó; %3 của chúng nằm trong RAM.</translation>
    </message>
    <message>
        <source>RAM is short: %1 experts are read from disk whenever they are needed.</source>
        <comment>ram_short_disk</comment>
        <translation>Thiếu RAM: %1 chuyên gia được đọc từ đĩa mỗi khi cần.</translation>
    </message>
    <message>
        <source>RAM is short: %1 experts are read from disk whenever they are needed, past the system&apos;s cache.</source>
        <comment>ram_short_disk_direct</comment>
        <translation>Thiếu RAM: %1 chuyên gia được đọc từ đĩa mỗi khi cần, không qua bộ nhớ đệm của hệ thống.</translation>
    </message>
    <message>
        <source>No room is left to copy experts on demand: those not on the device run on the CPU.</source>
        <comment>no_room_to_copy_experts</comment>
        <translation>Không còn chỗ để sao chép chuyên gia khi cần: chuyên gia nào không có trên thiết bị sẽ chạy trên CPU.</translation>
    </message>
    <message>
        <source>The model does not fit in %1 of %2: dense weights (%3), the KV cache of %4 tokens (%5) and buffers (%6) need %7, %8 more.</source>
        <comment>vram_too_small</comment>
        <translation>Mô hình không vừa %1 %2: trọng số dày đặc (%3), bộ nhớ đệm KV cho %4 token (%5) và bộ đệm (%6) cần %7, nhiều hơn %8.</translation>
    </message>
    <message>
        <source>The model does not fit in %1 of %2: dense weights and room for experts from disk (%3), the KV cache of %4 tokens (%5) and buffers (%6) need %7, %8 more.</source>
        <comment>vram_too_small_with_disk</comment>
        <translation>Mô hình không vừa %1 %2: trọng số dày đặc và chỗ cho chuyên gia từ đĩa (%3), bộ nhớ đệm KV cho %4 token (%5) và bộ đệm (%6) cần %7, nhiều hơn %8.</translation>
    </message>
    <message>
        <source>A context of %1 tokens would fit.</source>
        <comment>context_would_fit</comment>
        <translation>Ngữ cảnh %1 token sẽ vừa.</translation>
    </message>
    <message>
        <source>The model does not fit in %1 of RAM: %2 are needed even with the experts on disk, %3 more.</source>
        <comment>ram_too_small</comment>
        <translation>Mô hình không vừa %1 RAM: dù để chuyên gia trên đĩa vẫn cần %2, nhiều hơn %3.</translation>
    </message>
    <message>
        <source>The dense weights pass through RAM while the model is loaded: they take %1, and the RAM budget is %2, %3 too little.</source>
        <comment>dense_weights_pass_ram</comment>
        <translation>Trọng số dày đặc đi qua RAM khi nạp mô hình: chúng chiếm %1, còn hạn mức RAM là %2, thiếu %3.</translation>
    </message>
    <message>
        <source>Only %1 of %2 of experts in RAM are page-locked; copies of the others to the GPU are slower.</source>
        <comment>partly_page_locked</comment>
        <translation>Chỉ %1 trong %2 chuyên gia ở RAM được khóa trang; các chuyên gia còn lại được sao chép sang GPU chậm hơn.</translation>
    </message>
    <message>
        <source>NVIDIA&apos;s library cuBLAS was not found, so slower products of Offstage&apos;s own read prompts on %1; the CUDA toolkit has it.</source>
        <comment>cublas_missing</comment>
        <translation>Không tìm thấy thư viện cuBLAS của NVIDIA, nên các phép nhân chậm hơn của chính Offstage đọc câu lệnh trên %1; bộ công cụ CUDA có thư viện này.</translation>
    </message>
    <message>
        <source>%1 took %2 experts; %3 more were planned and found no room.</source>
        <comment>experts_left_over</comment>
        <translation>%1 đã nhận %2 chuyên gia; thêm %3 chuyên gia trong phương án không còn chỗ.</translation>
    </message>
    <message>
        <source>%1 has less memory free than planned, and RAM has no room for the experts left over; close other programs or lower the VRAM budget.</source>
        <comment>device_memory_less_than_planned</comment>
        <translation>%1 còn trống ít bộ nhớ hơn dự kiến, và RAM không có chỗ cho các chuyên gia còn lại; hãy đóng các chương trình khác hoặc giảm hạn mức VRAM.</translation>
    </message>
    <message>
        <source>RAM has no room for an expert that is on disk; raise the RAM budget.</source>
        <comment>ram_full_for_disk_expert</comment>
        <translation>RAM không có chỗ cho một chuyên gia đang ở trên đĩa; hãy tăng hạn mức RAM.</translation>
    </message>
    <message>
        <source>No model is loaded; open one first.</source>
        <comment>no_model_loaded</comment>
        <translation>Chưa nạp mô hình nào; hãy mở một mô hình trước.</translation>
    </message>
    <message>
        <source>The %1 message is not UTF-8 text: byte %2 starts no character.</source>
        <comment>message_not_utf8</comment>
        <translation>Tin nhắn của vai %1 không phải văn bản UTF-8: byte %2 không bắt đầu ký tự nào.</translation>
    </message>
    <message>
        <source>The model %1 has no tokenizer, so it cannot read or write text.</source>
        <comment>model_without_tokenizer</comment>
        <translation>Mô hình %1 không có bộ tách token nên không đọc hay viết văn bản được.</translation>
    </message>
    <message>
        <source>The model %1 has no chat template. Give it one by --chat-template, in the window by File &gt; Open with options: a file, or a family&apos;s (%2). Without one it can only continue a raw prompt.</source>
        <comment>model_without_template</comment>
        <translation>Mô hình %1 không có mẫu trò chuyện. Hãy cho nó một mẫu bằng --chat-template, trong cửa sổ bằng Tệp &gt; Mở với tùy chọn: một tệp, hoặc mẫu của một họ (%2). Không có mẫu, nó chỉ viết tiếp được lời nhắc thô.</translation>
    </message>
    <message>
        <source>There is no chat template %1; expected a file, or the name of one: %2.</source>
        <comment>no_such_chat_template</comment>
        <translation>Không có mẫu trò chuyện %1; cần một tệp, hoặc tên của một mẫu: %2.</translation>
    </message>
    <message>
        <source>The model&apos;s file has no chat template; the one that Ollama keeps for %1 is used.</source>
        <comment>template_of_ollama</comment>
        <translation>Tệp của mô hình không có mẫu trò chuyện; dùng mẫu mà Ollama giữ cho %1.</translation>
    </message>
    <message>
        <source>No prompt can be written with the chat template. Another one is chosen by --chat-template, in the window by File &gt; Open with options. The error: %1</source>
        <comment>template_unusable</comment>
        <translation>Không viết được lời nhắc bằng mẫu trò chuyện này. Hãy chọn mẫu khác bằng --chat-template, trong cửa sổ bằng Tệp &gt; Mở với tùy chọn. Lỗi: %1</translation>
    </message>
    <message>
        <source>Ollama has several names for this file. What it keeps beside it (template, parameters, system message) is taken from %1, not from %2.</source>
        <comment>ollama_name_of_several</comment>
        <translation>Ollama có nhiều tên cho tệp này. Những gì nó giữ bên cạnh (mẫu, tham số, tin nhắn hệ thống) lấy của %1, không lấy của %2.</translation>
    </message>
    <message>
        <source>Where nothing else is chosen, answers are drawn as %1 says: %2.</source>
        <comment>sampling_of_model</comment>
        <translation>Ở chỗ không chọn gì khác, câu trả lời được lấy mẫu như %1 ghi: %2.</translation>
    </message>
    <message>
        <source>This of %1 is not used: %2.</source>
        <comment>sampling_not_used</comment>
        <translation>Những giá trị này của %1 không được dùng: %2.</translation>
    </message>
    <message>
        <source>Where no system message is given, the one of %1 is used.</source>
        <comment>system_of_model</comment>
        <translation>Ở chỗ không có tin nhắn hệ thống, dùng tin nhắn của %1.</translation>
    </message>
    <message>
        <source>There is no answer to go on with: the last message is not the assistant&apos;s.</source>
        <comment>no_answer_to_go_on_with</comment>
        <translation>Không có câu trả lời nào để viết tiếp: tin nhắn cuối không phải của trợ lý.</translation>
    </message>
    <message>
        <source>The prompt is empty; expected at least one token.</source>
        <comment>prompt_empty</comment>
        <translation>Lời nhắc trống; cần ít nhất một token.</translation>
    </message>
    <message>
        <source>at least %1</source>
        <comment>at_least</comment>
        <translation>ít nhất %1</translation>
    </message>
    <message>
        <source>The prompt has %1 tokens, but the context of %2 holds %3 and the answer needs room too; shorten it or start a new conversation.</source>
        <comment>prompt_longer_than_context</comment>
        <translation>Lời nhắc có %1 token, nhưng ngữ cảnh của %2 chỉ chứa %3 và câu trả lời cũng cần chỗ; hãy rút ngắn hoặc bắt đầu cuộc trò chuyện mới.</translation>
    </message>
    <message>
        <source>The model %1 computed no usable probabilities (all are not a number); its weights seem to be damaged.</source>
        <comment>no_usable_probabilities</comment>
        <translation>Mô hình %1 không tính ra xác suất dùng được (tất cả đều không phải là số); có vẻ trọng số của nó bị hỏng.</translation>
    </message>
    <message>
        <source>n_answers is %1; expected 1 to %2.</source>
        <comment>answers_out_of_range</comment>
        <translation>n_answers là %1; cần từ 1 đến %2.</translation>
    </message>
    <message>
        <source>Beam search and several drawn answers exclude each other; set one of them to 1.</source>
        <comment>beams_and_answers</comment>
        <translation>Không thể vừa tìm kiếm chùm vừa lấy nhiều câu trả lời; hãy đặt một trong hai thành 1.</translation>
    </message>
    <message>
        <source>The beam width is %1; expected 1 to %2.</source>
        <comment>beam_width_out_of_range</comment>
        <translation>Độ rộng chùm là %1; cần từ 1 đến %2.</translation>
    </message>
    <message>
        <source>The length penalty is %1; expected -100 to 100.</source>
        <comment>length_penalty_out_of_range</comment>
        <translation>Hệ số phạt độ dài là %1; cần từ -100 đến 100.</translation>
    </message>
    <message>
        <source>The sampler&apos;s %1 must be %2, but it is %3.</source>
        <comment>sampler_value_out_of_range</comment>
        <translation>Trong cách lấy mẫu, %1 phải %2, nhưng lại là %3.</translation>
    </message>
    <message>
        <source>between %1 and %2</source>
        <comment>between</comment>
        <translation>nằm giữa %1 và %2</translation>
    </message>
    <message>
        <source>0 (off) or more</source>
        <comment>off_or_more</comment>
        <translation>bằng 0 (tắt) hoặc lớn hơn</translation>
    </message>
    <message>
        <source>0 (all tokens) or more</source>
        <comment>all_tokens_or_more</comment>
        <translation>bằng 0 (mọi token) hoặc lớn hơn</translation>
    </message>
    <message>
        <source>A KV cache of %1 tokens is too small: %2 are in use, in blocks of %3.</source>
        <comment>kv_cache_below_use</comment>
        <translation>Bộ nhớ đệm KV cho %1 token là quá nhỏ: đang dùng %2, theo từng khối %3.</translation>
    </message>
    <message>
        <source>The KV cache keeps its size: %1</source>
        <comment>kv_cache_keeps_size</comment>
        <translation>Bộ nhớ đệm KV giữ nguyên kích thước: %1</translation>
    </message>
    <message>
        <source>The KV cache keeps its format: %1</source>
        <comment>kv_cache_keeps_format</comment>
        <translation>KV cache giữ nguyên định dạng: %1</translation>
    </message>
    <message>
        <source>The system page-locks no more RAM for %1, so the device cannot read it.</source>
        <comment>no_more_page_locked_ram</comment>
        <translation>Hệ thống không khóa trang thêm RAM cho %1, nên thiết bị không đọc được.</translation>
    </message>
    <message>
        <source>A context of %1 tokens is too small: the conversation holds %2 already.</source>
        <comment>context_below_use</comment>
        <translation>Ngữ cảnh %1 token là quá nhỏ: cuộc trò chuyện đã có %2.</translation>
    </message>
    <message>
        <source>A context of %1 tokens is not possible: the conversation holds %2, and the most is %3.</source>
        <comment>context_impossible</comment>
        <translation>Không thể dùng ngữ cảnh %1 token: cuộc trò chuyện có %2, và tối đa là %3.</translation>
    </message>
    <message>
        <source>The conversation has outgrown a context of %1 tokens: it holds %2.</source>
        <comment>conversation_outgrew_context</comment>
        <translation>Cuộc trò chuyện đã vượt ngữ cảnh %1 token: nó có %2.</translation>
    </message>
    <message>
        <source>There is no expert %1 in layer %2 of the loaded model; it has %3 layers of %4.</source>
        <comment>no_such_expert</comment>
        <translation>Không có chuyên gia %1 ở lớp %2 của mô hình đã nạp; mô hình có %3 lớp, mỗi lớp %4.</translation>
    </message>
    <message>
        <source>%1 keeps its budget: %2 are needed with everything in its place, but only %3 were allowed.</source>
        <comment>budget_kept</comment>
        <translation>%1 giữ nguyên hạn mức: khi mọi thứ vào chỗ thì cần %2, nhưng chỉ cho phép %3.</translation>
    </message>
    <message>
        <source>%1 refused a copy of an expert.</source>
        <comment>copy_of_expert_refused</comment>
        <translation>%1 từ chối sao chép một chuyên gia.</translation>
    </message>
    <message>
        <source>Going back failed as well: %1</source>
        <comment>going_back_failed</comment>
        <translation>Quay lại cũng không thành công: %1</translation>
    </message>
    <message>
        <source>This session&apos;s budgets do not move.</source>
        <comment>budgets_do_not_move</comment>
        <translation>Không thể thay đổi hạn mức của phiên này.</translation>
    </message>
    <message>
        <source>%1 is kept: %2 ms per token against %3 with %4 (%5 tokens each)</source>
        <comment>choice_kept</comment>
        <translation>Giữ %1: %2 ms mỗi token so với %3 ms với %4 (mỗi bên %5 token)</translation>
    </message>
    <message>
        <source>%1 is used, as %2 is not clearly faster: %3 ms per token against %4 (%5 tokens each)</source>
        <comment>choice_not_clearly_better</comment>
        <translation>Dùng %1, vì %2 không nhanh hơn rõ rệt: %3 ms mỗi token so với %4 ms (mỗi bên %5 token)</translation>
    </message>
    <message>
        <source>%1 is used from now on: %2 ms per token against %3 with %4 (%5 tokens each)</source>
        <comment>choice_changed</comment>
        <translation>Từ nay dùng %1: %2 ms mỗi token so với %3 ms với %4 (mỗi bên %5 token)</translation>
    </message>
    <message>
        <source>speculative loading</source>
        <comment>speculative_loading</comment>
        <translation>nạp phỏng đoán</translation>
    </message>
    <message>
        <source>no speculative loading</source>
        <comment>no_speculative_loading</comment>
        <translation>không nạp phỏng đoán</translation>
    </message>
    <message>
        <source>%1 has no tokenizer: tokenizer.model (sentencepiece), tokenizer.json or a *.tiktoken file is expected there.</source>
        <comment>no_tokenizer_in_folder</comment>
        <translation>%1 không có bộ tách token: cần tokenizer.model (sentencepiece), tokenizer.json hoặc một tệp *.tiktoken ở đó.</translation>
    </message>
    <message>
        <source>%1: the field %2 is &quot;%3&quot;, which is not supported; known are %4. The folder needs a tokenizer of another kind, such as sentencepiece&apos;s tokenizer.model.</source>
        <comment>tokenizer_field_unsupported</comment>
        <translation>%1: trường %2 là &quot;%3&quot;, không được hỗ trợ; các giá trị được biết là %4. Thư mục cần một bộ tách token loại khác, ví dụ tokenizer.model của sentencepiece.</translation>
    </message>
    <message>
        <source>%1: the field %2 holds a pattern that PCRE2 refuses: %3. Write it in PCRE2&apos;s syntax, or use the tokenizer of another release of the model.</source>
        <comment>tokenizer_pattern_refused</comment>
        <translation>%1: trường %2 chứa một mẫu mà PCRE2 từ chối: %3. Hãy viết lại theo cú pháp của PCRE2, hoặc dùng bộ tách token của một bản phát hành khác của mô hình.</translation>
    </message>
    <message>
        <source>The tokenizer&apos;s pattern takes too many steps at byte %1 of the text. Shorten the text there, or use the tokenizer of another release of the model.</source>
        <comment>tokenizer_pattern_too_slow</comment>
        <translation>Mẫu của bộ tách token cần quá nhiều bước tại byte %1 của văn bản. Hãy rút ngắn văn bản ở đó, hoặc dùng bộ tách token của một bản phát hành khác của mô hình.</translation>
    </message>
    <message>
        <source>The text is too long for the tokenizer&apos;s normalizer; shorten it.</source>
        <comment>text_too_long_to_normalize</comment>
        <translation>Văn bản quá dài cho bước chuẩn hóa của bộ tách token; hãy rút ngắn.</translation>
    </message>
    <message>
        <source>%1, line %2: must be %3.</source>
        <comment>line_must_be</comment>
        <translation>%1, dòng %2: phải là %3.</translation>
    </message>
    <message>
        <source>%1: the token of rank %2 is given twice; each must differ.</source>
        <comment>token_rank_twice</comment>
        <translation>%1: token hạng %2 xuất hiện hai lần; mỗi token phải khác nhau.</translation>
    </message>
    <message>
        <source>%1: the byte %2 is no token; all 256 must be. The file is not whole: fetch it again from where the model came from.</source>
        <comment>byte_without_token</comment>
        <translation>%1: byte %2 không phải là token; cả 256 byte đều phải là token. Tệp không đầy đủ: hãy tải lại từ nơi lấy mô hình.</translation>
    </message>
    <message>
        <source>a number</source>
        <comment>a_number</comment>
        <translation>một số</translation>
    </message>
    <message>
        <source>a text of at most %1 bytes</source>
        <comment>a_text_of_at_most</comment>
        <translation>văn bản dài tối đa %1 byte</translation>
    </message>
    <message>
        <source>a text of at least one character</source>
        <comment>a_text_of_a_character</comment>
        <translation>văn bản có ít nhất một ký tự</translation>
    </message>
    <message>
        <source>a regular expression</source>
        <comment>a_regular_expression</comment>
        <translation>một biểu thức chính quy</translation>
    </message>
    <message>
        <source>an object with &quot;Regex&quot; or &quot;String&quot;</source>
        <comment>an_object_with_regex</comment>
        <translation>một đối tượng có &quot;Regex&quot; hoặc &quot;String&quot;</translation>
    </message>
    <message>
        <source>nested less deeply</source>
        <comment>nested_less_deeply</comment>
        <translation>lồng nhau ít tầng hơn</translation>
    </message>
    <message>
        <source>a list of fewer steps</source>
        <comment>a_list_of_fewer_steps</comment>
        <translation>một danh sách ít bước hơn</translation>
    </message>
    <message>
        <source>before ByteLevel, which must be the last step</source>
        <comment>before_byte_level</comment>
        <translation>đứng trước ByteLevel, bước phải ở cuối cùng</translation>
    </message>
    <message>
        <source>an object of tokens with their ids</source>
        <comment>an_object_of_token_ids</comment>
        <translation>một đối tượng gồm các token và số của chúng</translation>
    </message>
    <message>
        <source>an object of tokens with their ids; the file is not whole: fetch it again from where the model came from</source>
        <comment>an_object_of_token_ids_cut</comment>
        <translation>một đối tượng gồm các token và số của chúng; tệp không đầy đủ: hãy tải lại từ nơi lấy mô hình</translation>
    </message>
    <message>
        <source>an object; the file is not whole: fetch it again from where the model came from</source>
        <comment>an_object_cut</comment>
        <translation>một đối tượng; tệp không đầy đủ: hãy tải lại từ nơi lấy mô hình</translation>
    </message>
    <message>
        <source>a list of merges, as &quot;a b&quot; or [&quot;a&quot;, &quot;b&quot;]; the file is not whole: fetch it again from where the model came from</source>
        <comment>a_list_of_merges_cut</comment>
        <translation>một danh sách các cặp ghép, dạng &quot;a b&quot; hoặc [&quot;a&quot;, &quot;b&quot;]; tệp không đầy đủ: hãy tải lại từ nơi lấy mô hình</translation>
    </message>
    <message>
        <source>two tokens, as &quot;a b&quot; or [&quot;a&quot;, &quot;b&quot;]</source>
        <comment>two_tokens_merged</comment>
        <translation>hai token, dạng &quot;a b&quot; hoặc [&quot;a&quot;, &quot;b&quot;]</translation>
    </message>
    <message>
        <source>a smaller value: the file holds too many</source>
        <comment>a_smaller_value</comment>
        <translation>một giá trị nhỏ hơn: tệp chứa quá nhiều</translation>
    </message>
    <message>
        <source>two tokens of model.vocab that together are one, too, not &quot;%1&quot; and &quot;%2&quot;</source>
        <comment>two_tokens_of_vocab</comment>
        <translation>hai token của model.vocab mà ghép lại cũng là một token, không phải &quot;%1&quot; và &quot;%2&quot;</translation>
    </message>
    <message>
        <source>null or 0: with dropout the same text has other tokens each time</source>
        <comment>null_or_zero_dropout</comment>
        <translation>null hoặc 0: với dropout, cùng một văn bản mỗi lần cho token khác nhau</translation>
    </message>
    <message>
        <source>empty or null: marks inside of words are not supported</source>
        <comment>empty_or_null_affix</comment>
        <translation>rỗng hoặc null: dấu bên trong từ không được hỗ trợ</translation>
    </message>
    <message>
        <source>a token of model.vocab, not &quot;%1&quot;</source>
        <comment>a_token_of_vocab</comment>
        <translation>một token của model.vocab, không phải &quot;%1&quot;</translation>
    </message>
    <message>
        <source>tokens with ids of their own; %1 is that of &quot;%2&quot;</source>
        <comment>tokens_with_own_ids</comment>
        <translation>các token có số riêng; %1 là số của &quot;%2&quot;</translation>
    </message>
    <message>
        <source>the regular expression that goes with the tiktoken file, or &quot;encoding_name&quot; cl100k_base or o200k_base</source>
        <comment>tiktoken_expression</comment>
        <translation>biểu thức chính quy đi cùng tệp tiktoken, hoặc &quot;encoding_name&quot; là cl100k_base hay o200k_base</translation>
    </message>
    <message>
        <source>a token in base64, a blank, and its rank</source>
        <comment>tiktoken_line</comment>
        <translation>một token dạng base64, một dấu cách và hạng của nó</translation>
    </message>
    <message>
        <source>%1 has no tokenizer: %2 is expected in its metadata.</source>
        <comment>no_tokenizer_in_metadata</comment>
        <translation>%1 không có bộ tách token: cần %2 trong siêu dữ liệu của tệp.</translation>
    </message>
    <message>
        <source>%1: %2[%3] is %4; expected %5</source>
        <comment>item_rejected</comment>
        <translation>%1: %2[%3] là %4; cần %5</translation>
    </message>
    <message>
        <source>%1: %2 is %3; expected one of %4</source>
        <comment>metadata_one_of</comment>
        <translation>%1: %2 là %3; cần một trong %4</translation>
    </message>
    <message>
        <source>a list of %1 numbers, one for each token</source>
        <comment>a_number_for_each_token</comment>
        <translation>một danh sách %1 số, mỗi token một số</translation>
    </message>
    <message>
        <source>a list of %1, one for each token</source>
        <comment>a_list_for_each_token</comment>
        <translation>một danh sách %1 mục, mỗi token một mục</translation>
    </message>
    <message>
        <source>a list of 1 to %1 texts (the model&apos;s vocab_size)</source>
        <comment>a_list_of_token_texts</comment>
        <translation>một danh sách từ 1 đến %1 văn bản (vocab_size của mô hình)</translation>
    </message>
    <message>
        <source>text in UTF-8</source>
        <comment>text_in_utf8</comment>
        <translation>văn bản UTF-8</translation>
    </message>
    <message>
        <source>The file&apos;s vocabulary has texts twice (tokens: %1; the first are %2 and %3, %4): such a text becomes the later token.</source>
        <comment>gguf_texts_twice</comment>
        <translation>Bộ từ vựng trong tệp có văn bản trùng nhau (số token: %1; đầu tiên là %2 và %3, %4): văn bản như vậy thành token sau.</translation>
    </message>
    <message>
        <source>Tokens of the file are of no known type (tokens: %1; the first is %2, %3): they add nothing to a text.</source>
        <comment>gguf_types_undefined</comment>
        <translation>Có token trong tệp không thuộc kiểu nào đã biết (số token: %1; đầu tiên là %2, %3): chúng không thêm gì vào văn bản.</translation>
    </message>
    <message>
        <source>%1 of the file is %2, but it has %3 tokens: the id is not used.</source>
        <comment>gguf_id_beyond</comment>
        <translation>%1 trong tệp là %2, nhưng tệp có %3 token: mã này không được dùng.</translation>
    </message>
    <message>
        <source>The file does not say how a text is cut into words (&quot;tokenizer.ggml.pre&quot;): &quot;default&quot; is used. Where the model was trained with other words, its answers are worse: a file by a newer converter has the name.</source>
        <comment>gguf_pre_missing</comment>
        <translation>Tệp không cho biết văn bản được cắt thành từ như thế nào (&quot;tokenizer.ggml.pre&quot;): &quot;default&quot; được dùng. Nếu mô hình được huấn luyện với cách cắt khác thì câu trả lời kém hơn: tệp của bộ chuyển đổi mới hơn có tên này.</translation>
    </message>
    <message>
        <source>Merges of the file have a text that is no token (merges: %1; the first is number %2, %3): a word that ends with such a text becomes the tokens of its bytes.</source>
        <comment>gguf_merges_no_token</comment>
        <translation>Có phép gộp trong tệp chứa văn bản không phải là token (số phép gộp: %1; đầu tiên là số %2, %3): từ kết thúc bằng văn bản như vậy thành các token của từng byte.</translation>
    </message>
    <message>
        <source>%1: the tokens write a blank as %2</source>
        <comment>a_model_with_blank</comment>
        <translation>%1: các token viết dấu cách là %2</translation>
    </message>
    <message>
        <source>&quot;default&quot;, or another &quot;tokenizer.ggml.model&quot;: &quot;llama&quot; has no %1</source>
        <comment>default_pre_of_llama</comment>
        <translation>&quot;default&quot;, hoặc &quot;tokenizer.ggml.model&quot; khác: &quot;llama&quot; không có %1</translation>
    </message>
    <message>
        <source>none or 256 tokens of type 6, a byte, not %1</source>
        <comment>all_or_no_byte_tokens</comment>
        <translation>không có hoặc có 256 token kiểu 6 (byte), không phải %1</translation>
    </message>
    <message>
        <source>the id of a token</source>
        <comment>the_id_of_a_token</comment>
        <translation>id của một token</translation>
    </message>
    <message>
        <source>%1 is no valid sentencepiece model.</source>
        <comment>sentencepiece_invalid</comment>
        <translation>%1 không phải mô hình sentencepiece hợp lệ.</translation>
    </message>
    <message>
        <source>%1 is no valid sentencepiece model: %2.</source>
        <comment>sentencepiece_damaged</comment>
        <translation>%1 không phải mô hình sentencepiece hợp lệ: %2.</translation>
    </message>
    <message>
        <source>a bad field number</source>
        <comment>bad_field_number</comment>
        <translation>số trường sai</translation>
    </message>
    <message>
        <source>it ends in the middle of a record</source>
        <comment>ends_in_a_record</comment>
        <translation>kết thúc giữa chừng một bản ghi</translation>
    </message>
    <message>
        <source>a record of an unknown kind</source>
        <comment>record_of_unknown_kind</comment>
        <translation>có bản ghi thuộc loại không biết</translation>
    </message>
    <message>
        <source>it ends in the middle of a number</source>
        <comment>ends_in_a_number</comment>
        <translation>kết thúc giữa chừng một số</translation>
    </message>
    <message>
        <source>a number of more than ten bytes</source>
        <comment>number_too_long</comment>
        <translation>có số dài hơn mười byte</translation>
    </message>
    <message>
        <source>the field %1 is of the wrong kind</source>
        <comment>wire_field_of_wrong_kind</comment>
        <translation>trường %1 sai loại</translation>
    </message>
    <message>
        <source>the field %1 is given twice</source>
        <comment>wire_field_twice</comment>
        <translation>trường %1 xuất hiện hai lần</translation>
    </message>
    <message>
        <source>the field %1 is too long</source>
        <comment>wire_field_too_long</comment>
        <translation>trường %1 quá dài</translation>
    </message>
    <message>
        <source>the field %1 is no UTF-8 text</source>
        <comment>wire_field_no_utf8</comment>
        <translation>trường %1 không phải văn bản UTF-8</translation>
    </message>
    <message>
        <source>trainer_spec&apos;s token names</source>
        <comment>trainer_token_names</comment>
        <translation>tên token của trainer_spec</translation>
    </message>
    <message>
        <source>its normaliser map is cut short</source>
        <comment>normaliser_cut_short</comment>
        <translation>bảng chuẩn hóa bị cắt cụt</translation>
    </message>
    <message>
        <source>its normaliser map has an impossible size</source>
        <comment>normaliser_size_impossible</comment>
        <translation>bảng chuẩn hóa có kích thước không thể có</translation>
    </message>
    <message>
        <source>its normaliser map is too large</source>
        <comment>normaliser_too_large</comment>
        <translation>bảng chuẩn hóa quá lớn</translation>
    </message>
    <message>
        <source>its normaliser map nests too many rules</source>
        <comment>normaliser_too_many_rules</comment>
        <translation>bảng chuẩn hóa lồng quá nhiều quy tắc</translation>
    </message>
    <message>
        <source>its normaliser map runs in a circle</source>
        <comment>normaliser_in_a_circle</comment>
        <translation>bảng chuẩn hóa chạy vòng tròn</translation>
    </message>
    <message>
        <source>its normaliser map points outside of itself</source>
        <comment>normaliser_points_outside</comment>
        <translation>bảng chuẩn hóa trỏ ra ngoài chính nó</translation>
    </message>
    <message>
        <source>its normaliser map holds text that is no UTF-8</source>
        <comment>normaliser_no_utf8</comment>
        <translation>bảng chuẩn hóa chứa văn bản không phải UTF-8</translation>
    </message>
    <message>
        <source>its normaliser map holds too long a replacement</source>
        <comment>normaliser_replacement_too_long</comment>
        <translation>bảng chuẩn hóa chứa đoạn thay thế quá dài</translation>
    </message>
    <message>
        <source>piece %1 has a score that is no number</source>
        <comment>piece_score_no_number</comment>
        <translation>mảnh %1 có điểm không phải là số</translation>
    </message>
    <message>
        <source>piece %1 is of an unknown type</source>
        <comment>piece_type_unknown</comment>
        <translation>mảnh %1 thuộc kiểu không biết</translation>
    </message>
    <message>
        <source>piece %1 is empty</source>
        <comment>piece_empty</comment>
        <translation>mảnh %1 trống</translation>
    </message>
    <message>
        <source>piece %1</source>
        <comment>a_piece</comment>
        <translation>mảnh %1</translation>
    </message>
    <message>
        <source>more than %1 user-defined pieces begin with one another</source>
        <comment>too_many_pieces_alike</comment>
        <translation>hơn %1 mảnh do người dùng định nghĩa bắt đầu bằng nhau</translation>
    </message>
    <message>
        <source>it holds no pieces</source>
        <comment>no_pieces</comment>
        <translation>không chứa mảnh nào</translation>
    </message>
    <message>
        <source>%1 has the model_type %2; 1 (unigram), 2 (BPE), 3 (word) and 4 (char) are known.</source>
        <comment>sentencepiece_type_unknown</comment>
        <translation>%1 có model_type %2; chỉ biết 1 (unigram), 2 (BPE), 3 (word) và 4 (char).</translation>
    </message>
    <message>
        <source>%1 holds more pieces than the model&apos;s vocab_size of %2.</source>
        <comment>more_pieces_than_vocab</comment>
        <translation>%1 chứa nhiều mảnh hơn vocab_size %2 của mô hình.</translation>
    </message>
    <message>
        <source>%1 rewrites its output (denormalizer_spec), which is not supported.</source>
        <comment>rewrites_output</comment>
        <translation>%1 viết lại đầu ra (denormalizer_spec), điều này không được hỗ trợ.</translation>
    </message>
    <message>
        <source>%1: an added token&apos;s id is larger than any vocabulary.</source>
        <comment>added_token_id_too_large</comment>
        <translation>%1: mã của một token bổ sung lớn hơn mọi bộ từ vựng.</translation>
    </message>
    <message>
        <source>The tokenizer&apos;s %1 &quot;%2&quot; is neither a piece of %3 nor an added token.</source>
        <comment>special_token_unknown</comment>
        <translation>%1 &quot;%2&quot; của bộ tách token không phải mảnh của %3, cũng không phải token bổ sung.</translation>
    </message>
    <message>
        <source>%1: the field %2 must be %3.</source>
        <comment>token_field_must_be</comment>
        <translation>%1: trường %2 phải là %3.</translation>
    </message>
    <message>
        <source>a string, an object with &quot;content&quot;, or null</source>
        <comment>a_string_or_content</comment>
        <translation>một chuỗi, một đối tượng có &quot;content&quot;, hoặc null</translation>
    </message>
    <message>
        <source>an id from 0 to %1 (the model&apos;s vocab_size less one), not %2</source>
        <comment>an_id_not</comment>
        <translation>một mã từ 0 đến %1 (vocab_size của mô hình trừ một), không phải %2</translation>
    </message>
    <message>
        <source>a text of 1 to %1 bytes</source>
        <comment>a_text_of_bytes</comment>
        <translation>một đoạn văn bản dài từ 1 đến %1 byte</translation>
    </message>
    <message>
        <source>given once; &quot;%1&quot; is given twice</source>
        <comment>given_twice</comment>
        <translation>duy nhất; &quot;%1&quot; xuất hiện hai lần</translation>
    </message>
    <message>
        <source>given once; the id is given twice</source>
        <comment>id_given_twice</comment>
        <translation>duy nhất; mã này xuất hiện hai lần</translation>
    </message>
    <message>
        <source>named by a token id</source>
        <comment>named_by_a_token_id</comment>
        <translation>tên là một mã token</translation>
    </message>
    <message>
        <source>an object with a string &quot;content&quot;</source>
        <comment>an_object_with_content</comment>
        <translation>một đối tượng có chuỗi &quot;content&quot;</translation>
    </message>
    <message>
        <source>a token id</source>
        <comment>a_token_id</comment>
        <translation>một mã token</translation>
    </message>
    <message>
        <source>The text is longer than %1 MiB.</source>
        <comment>text_too_long</comment>
        <translation>Văn bản dài hơn %1 MiB.</translation>
    </message>
    <message>
        <source>The text is not valid UTF-8 at byte %1.</source>
        <comment>text_not_utf8</comment>
        <translation>Văn bản không phải UTF-8 hợp lệ tại byte %1.</translation>
    </message>
    <message>
        <source>The text cannot be tokenized.</source>
        <comment>text_not_tokenized</comment>
        <translation>Không tách được văn bản thành token.</translation>
    </message>
    <message>
        <source>A message is not valid UTF-8 at byte %1.</source>
        <comment>chat_message_not_utf8</comment>
        <translation>Một tin nhắn không phải UTF-8 hợp lệ tại byte %1.</translation>
    </message>
    <message>
        <source>The bos token is not valid UTF-8 at byte %1.</source>
        <comment>bos_not_utf8</comment>
        <translation>Token bos không phải UTF-8 hợp lệ tại byte %1.</translation>
    </message>
    <message>
        <source>The eos token is not valid UTF-8 at byte %1.</source>
        <comment>eos_not_utf8</comment>
        <translation>Token eos không phải UTF-8 hợp lệ tại byte %1.</translation>
    </message>
    <message>
        <source>The conversation is longer than 16 MiB.</source>
        <comment>conversation_too_long</comment>
        <translation>Cuộc trò chuyện dài hơn 16 MiB.</translation>
    </message>
    <message>
        <source>%1: the field chat_template must be a string, or a list with an entry named &quot;default&quot;.</source>
        <comment>template_field_no_string</comment>
        <translation>%1: trường chat_template phải là một chuỗi, hoặc một danh sách có mục tên &quot;default&quot;.</translation>
    </message>
    <message>
        <source>%1: the chat template is not valid UTF-8 at byte %2.</source>
        <comment>template_not_utf8</comment>
        <translation>%1: mẫu trò chuyện không phải UTF-8 hợp lệ tại byte %2.</translation>
    </message>
    <message>
        <source>%1, line %2: the chat template has %3.</source>
        <comment>template_has</comment>
        <translation>%1, dòng %2: mẫu trò chuyện có lỗi: %3.</translation>
    </message>
    <message>
        <source>%1, line %2: the chat template uses %3, which is not supported.</source>
        <comment>template_uses</comment>
        <translation>%1, dòng %2: mẫu trò chuyện dùng phần không được hỗ trợ: %3.</translation>
    </message>
    <message>
        <source>%1, line %2: the chat template failed: %3.</source>
        <comment>template_failed</comment>
        <translation>%1, dòng %2: mẫu trò chuyện gặp lỗi: %3.</translation>
    </message>
    <message>
        <source>%1, line %2: no memory for the chat template&apos;s text.</source>
        <comment>template_no_memory</comment>
        <translation>%1, dòng %2: không có bộ nhớ cho văn bản của mẫu trò chuyện.</translation>
    </message>
    <message>
        <source>a comment that does not end</source>
        <comment>comment_without_end</comment>
        <translation>chú thích không kết thúc</translation>
    </message>
    <message>
        <source>a tag that does not end</source>
        <comment>tag_without_end</comment>
        <translation>thẻ không kết thúc</translation>
    </message>
    <message>
        <source>a string that does not end</source>
        <comment>string_without_end</comment>
        <translation>chuỗi không kết thúc</translation>
    </message>
    <message>
        <source>a broken \%1 escape</source>
        <comment>broken_escape</comment>
        <translation>chuỗi thoát \%1 bị lỗi</translation>
    </message>
    <message>
        <source>an escape that is no character</source>
        <comment>escape_of_no_character</comment>
        <translation>chuỗi thoát không phải ký tự</translation>
    </message>
    <message>
        <source>a \N escape</source>
        <comment>unknown_named_escape</comment>
        <translation>chuỗi thoát \N</translation>
    </message>
    <message>
        <source>the number %1</source>
        <comment>the_number</comment>
        <translation>số %1</translation>
    </message>
    <message>
        <source>a number followed by a letter</source>
        <comment>number_before_a_letter</comment>
        <translation>số có chữ cái theo sau</translation>
    </message>
    <message>
        <source>an unexpected character &apos;%1&apos;</source>
        <comment>unexpected_character</comment>
        <translation>ký tự không mong đợi &apos;%1&apos;</translation>
    </message>
    <message>
        <source>an unexpected &apos;%1&apos;</source>
        <comment>unexpected</comment>
        <translation>&apos;%1&apos; không mong đợi</translation>
    </message>
    <message>
        <source>%1 bytes, more than the %2 allowed</source>
        <comment>template_too_long</comment>
        <translation>%1 byte, hơn mức cho phép là %2</translation>
    </message>
    <message>
        <source>the end of the template</source>
        <comment>end_of_template</comment>
        <translation>điểm cuối của mẫu</translation>
    </message>
    <message>
        <source>a string</source>
        <comment>a_string</comment>
        <translation>một chuỗi</translation>
    </message>
    <message>
        <source>the end of the tag</source>
        <comment>end_of_tag</comment>
        <translation>điểm cuối của thẻ</translation>
    </message>
    <message>
        <source>a tag</source>
        <comment>a_tag</comment>
        <translation>một thẻ</translation>
    </message>
    <message>
        <source>%1 where %2 is expected</source>
        <comment>where_expected</comment>
        <translation>%1 ở chỗ cần %2</translation>
    </message>
    <message>
        <source>%1 where a name is expected</source>
        <comment>where_a_name_expected</comment>
        <translation>%1 ở chỗ cần một tên</translation>
    </message>
    <message>
        <source>%1 where a value is expected</source>
        <comment>where_a_value_expected</comment>
        <translation>%1 ở chỗ cần một giá trị</translation>
    </message>
    <message>
        <source>%1 where a tag&apos;s name is expected</source>
        <comment>where_a_tag_expected</comment>
        <translation>%1 ở chỗ cần tên thẻ</translation>
    </message>
    <message>
        <source>%1 where it does not belong</source>
        <comment>where_it_does_not_belong</comment>
        <translation>%1 ở sai chỗ</translation>
    </message>
    <message>
        <source>no {% %1 %}</source>
        <comment>no_such_tag</comment>
        <translation>thiếu {% %1 %}</translation>
    </message>
    <message>
        <source>the tag &apos;%1&apos;</source>
        <comment>the_tag</comment>
        <translation>thẻ &apos;%1&apos;</translation>
    </message>
    <message>
        <source>an assignment to &apos;%1&apos;</source>
        <comment>assignment_to</comment>
        <translation>phép gán cho &apos;%1&apos;</translation>
    </message>
    <message>
        <source>a set block with more than one name</source>
        <comment>set_block_of_names</comment>
        <translation>khối set có nhiều hơn một tên</translation>
    </message>
    <message>
        <source>&apos;%1&apos; outside of a loop</source>
        <comment>outside_of_a_loop</comment>
        <translation>&apos;%1&apos; ở ngoài vòng lặp</translation>
    </message>
    <message>
        <source>an expression of more than %1 steps inside one another</source>
        <comment>expression_too_deep</comment>
        <translation>biểu thức có hơn %1 bước lồng nhau</translation>
    </message>
    <message>
        <source>more than %1 levels of nesting</source>
        <comment>nesting_too_deep</comment>
        <translation>hơn %1 cấp lồng nhau</translation>
    </message>
    <message>
        <source>a subscript of more than one part</source>
        <comment>subscript_of_parts</comment>
        <translation>chỉ số gồm nhiều phần</translation>
    </message>
    <message>
        <source>unpacked arguments</source>
        <comment>unpacked_arguments</comment>
        <translation>các đối số được mở gói</translation>
    </message>
    <message>
        <source>an argument behind a named one</source>
        <comment>argument_behind_named</comment>
        <translation>đối số đứng sau đối số có tên</translation>
    </message>
    <message>
        <source>a call of a filter&apos;s result</source>
        <comment>call_of_filter_result</comment>
        <translation>lời gọi kết quả của bộ lọc</translation>
    </message>
    <message>
        <source>it is nested too deeply</source>
        <comment>template_too_deep</comment>
        <translation>lồng nhau quá sâu</translation>
    </message>
    <message>
        <source>it takes more than %1 steps</source>
        <comment>template_too_many_steps</comment>
        <translation>cần hơn %1 bước</translation>
    </message>
    <message>
        <source>it makes more than %1 MiB of text</source>
        <comment>template_too_much_text</comment>
        <translation>tạo ra hơn %1 MiB văn bản</translation>
    </message>
    <message>
        <source>its text is longer than %1 MiB</source>
        <comment>template_output_too_long</comment>
        <translation>văn bản của nó dài hơn %1 MiB</translation>
    </message>
    <message>
        <source>it defines more than %1 macros</source>
        <comment>template_too_many_macros</comment>
        <translation>định nghĩa hơn %1 macro</translation>
    </message>
    <message>
        <source>%1 with %2 arguments</source>
        <comment>call_with_arguments</comment>
        <translation>%1 với %2 đối số</translation>
    </message>
    <message>
        <source>%1 with an argument &apos;%2&apos;</source>
        <comment>call_with_argument</comment>
        <translation>%1 với đối số &apos;%2&apos;</translation>
    </message>
    <message>
        <source>%1 values are assigned to %2 names</source>
        <comment>values_for_names</comment>
        <translation>gán %1 giá trị cho %2 tên</translation>
    </message>
    <message>
        <source>&apos;%1&apos; is no namespace, so no attribute of it can be set</source>
        <comment>no_namespace_to_set</comment>
        <translation>&apos;%1&apos; không phải không gian tên nên không đặt được thuộc tính của nó</translation>
    </message>
    <message>
        <source>the method &apos;%1&apos; of a text</source>
        <comment>method_of_text</comment>
        <translation>phương thức &apos;%1&apos; của văn bản</translation>
    </message>
    <message>
        <source>the method &apos;%1&apos; of a dict</source>
        <comment>method_of_dict</comment>
        <translation>phương thức &apos;%1&apos; của dict</translation>
    </message>
    <message>
        <source>the method &apos;%1&apos; of a list</source>
        <comment>method_of_list</comment>
        <translation>phương thức &apos;%1&apos; của danh sách</translation>
    </message>
    <message>
        <source>the method &apos;%1&apos; of a value of type %2</source>
        <comment>method_of_type</comment>
        <translation>phương thức &apos;%1&apos; của giá trị kiểu %2</translation>
    </message>
    <message>
        <source>a sign before a value of type %1</source>
        <comment>sign_before_type</comment>
        <translation>dấu đứng trước giá trị kiểu %1</translation>
    </message>
    <message>
        <source>a dict&apos;s key of type %1</source>
        <comment>dict_key_of_type</comment>
        <translation>khóa của dict thuộc kiểu %1</translation>
    </message>
    <message>
        <source>a slice&apos;s bound of type %1</source>
        <comment>slice_bound_of_type</comment>
        <translation>giới hạn đoạn cắt thuộc kiểu %1</translation>
    </message>
    <message>
        <source>a slice of a value of type %1</source>
        <comment>slice_of_type</comment>
        <translation>đoạn cắt của giá trị kiểu %1</translation>
    </message>
    <message>
        <source>a slice with a step of 0</source>
        <comment>slice_step_of_zero</comment>
        <translation>đoạn cắt với bước 0</translation>
    </message>
    <message>
        <source>a number is too large</source>
        <comment>number_too_large</comment>
        <translation>có số quá lớn</translation>
    </message>
    <message>
        <source>a division by zero</source>
        <comment>division_by_zero</comment>
        <translation>phép chia cho không</translation>
    </message>
    <message>
        <source>a repetition is too long</source>
        <comment>repetition_too_long</comment>
        <translation>phép lặp quá dài</translation>
    </message>
    <message>
        <source>%1 without an argument</source>
        <comment>call_without_argument</comment>
        <translation>%1 không có đối số</translation>
    </message>
    <message>
        <source>range of a value of type %1</source>
        <comment>range_of_type</comment>
        <translation>range của giá trị kiểu %1</translation>
    </message>
    <message>
        <source>range with a step of 0</source>
        <comment>range_step_of_zero</comment>
        <translation>range với bước 0</translation>
    </message>
    <message>
        <source>range of more than %1 numbers</source>
        <comment>range_too_long</comment>
        <translation>range gồm hơn %1 số</translation>
    </message>
    <message>
        <source>a namespace&apos;s name of another type than str</source>
        <comment>namespace_name_of_type</comment>
        <translation>tên trong không gian tên thuộc kiểu khác str</translation>
    </message>
    <message>
        <source>the text format &apos;%1&apos;</source>
        <comment>text_format</comment>
        <translation>định dạng văn bản &apos;%1&apos;</translation>
    </message>
    <message>
        <source>the text format &apos;%1&apos; of a value of type %2</source>
        <comment>text_format_of_type</comment>
        <translation>định dạng văn bản &apos;%1&apos; của một giá trị kiểu %2</translation>
    </message>
    <message>
        <source>a text format asks for &apos;%1&apos;, which is not given</source>
        <comment>text_format_field</comment>
        <translation>một định dạng văn bản cần &apos;%1&apos;, nhưng không có</translation>
    </message>
    <message>
        <source>a text format and its values do not fit together</source>
        <comment>text_format_values</comment>
        <translation>một định dạng văn bản và các giá trị của nó không khớp nhau</translation>
    </message>
    <message>
        <source>&apos;%1&apos; is undefined</source>
        <comment>name_undefined</comment>
        <translation>&apos;%1&apos; chưa được định nghĩa</translation>
    </message>
    <message>
        <source>an undefined value is used</source>
        <comment>undefined_value_used</comment>
        <translation>dùng một giá trị chưa được định nghĩa</translation>
    </message>
    <message>
        <source>&apos;%1&apos; between values of type %2 and %3</source>
        <comment>operator_between_types</comment>
        <translation>&apos;%1&apos; giữa các giá trị kiểu %2 và %3</translation>
    </message>
    <message>
        <source>the function &apos;%1&apos;</source>
        <comment>the_function</comment>
        <translation>hàm &apos;%1&apos;</translation>
    </message>
    <message>
        <source>a value of type %1 is called</source>
        <comment>type_is_called</comment>
        <translation>gọi một giá trị kiểu %1</translation>
    </message>
    <message>
        <source>the macro &apos;%1&apos; takes fewer arguments</source>
        <comment>macro_takes_fewer</comment>
        <translation>macro &apos;%1&apos; nhận ít đối số hơn</translation>
    </message>
    <message>
        <source>the macro &apos;%1&apos; takes no argument &apos;%2&apos;</source>
        <comment>macro_takes_no_argument</comment>
        <translation>macro &apos;%1&apos; không nhận đối số &apos;%2&apos;</translation>
    </message>
    <message>
        <source>&apos;%1&apos; is no function, but it is called</source>
        <comment>no_function_called</comment>
        <translation>&apos;%1&apos; không phải hàm nhưng lại được gọi</translation>
    </message>
    <message>
        <source>%1 takes a text, not a value of type %2</source>
        <comment>takes_a_text</comment>
        <translation>%1 nhận văn bản, không nhận giá trị kiểu %2</translation>
    </message>
    <message>
        <source>%1 takes a number, not a value of type %2</source>
        <comment>takes_a_number</comment>
        <translation>%1 nhận một số, không nhận giá trị kiểu %2</translation>
    </message>
    <message>
        <source>split at an empty text</source>
        <comment>split_at_empty_text</comment>
        <translation>split tại văn bản trống</translation>
    </message>
    <message>
        <source>%1 of letters beyond ASCII</source>
        <comment>letters_beyond_ascii</comment>
        <translation>%1 của các chữ cái ngoài ASCII</translation>
    </message>
    <message>
        <source>get without a key</source>
        <comment>get_without_key</comment>
        <translation>get không có khóa</translation>
    </message>
    <message>
        <source>index of a value that is not in the list</source>
        <comment>index_of_missing_value</comment>
        <translation>index của giá trị không có trong danh sách</translation>
    </message>
    <message>
        <source>cycle without a value</source>
        <comment>cycle_without_value</comment>
        <translation>cycle không có giá trị</translation>
    </message>
    <message>
        <source>a value of type %1 is looked for in a text</source>
        <comment>type_looked_for_in_text</comment>
        <translation>tìm giá trị kiểu %1 trong văn bản</translation>
    </message>
    <message>
        <source>&apos;in&apos; with a value of type %1</source>
        <comment>in_with_type</comment>
        <translation>&apos;in&apos; với giá trị kiểu %1</translation>
    </message>
    <message>
        <source>a value of type %1 has no items</source>
        <comment>type_without_items</comment>
        <translation>giá trị kiểu %1 không có phần tử</translation>
    </message>
    <message>
        <source>a value of type %1 cannot be ordered with one of type %2</source>
        <comment>types_not_ordered</comment>
        <translation>không so sánh thứ tự được giá trị kiểu %1 với kiểu %2</translation>
    </message>
    <message>
        <source>a namespace inside another value</source>
        <comment>namespace_inside_value</comment>
        <translation>không gian tên nằm trong một giá trị khác</translation>
    </message>
    <message>
        <source>a function used as a value</source>
        <comment>function_as_value</comment>
        <translation>hàm dùng làm giá trị</translation>
    </message>
    <message>
        <source>a list or dict is too large</source>
        <comment>container_too_large</comment>
        <translation>một danh sách hoặc dict quá lớn</translation>
    </message>
    <message>
        <source>lists and dicts are nested more than %1 deep</source>
        <comment>containers_too_deep</comment>
        <translation>danh sách và dict lồng nhau sâu hơn %1 cấp</translation>
    </message>
    <message>
        <source>a letter case filter</source>
        <comment>a_letter_case_filter</comment>
        <translation>bộ lọc chữ hoa chữ thường</translation>
    </message>
    <message>
        <source>the length of a generator</source>
        <comment>length_of_generator</comment>
        <translation>độ dài của generator</translation>
    </message>
    <message>
        <source>the length of a value of type %1</source>
        <comment>length_of_type</comment>
        <translation>độ dài của giá trị kiểu %1</translation>
    </message>
    <message>
        <source>tojson with separators that are not two texts</source>
        <comment>tojson_separators</comment>
        <translation>tojson với dấu phân cách không phải hai văn bản</translation>
    </message>
    <message>
        <source>tojson with long separators</source>
        <comment>tojson_long_separators</comment>
        <translation>tojson với dấu phân cách dài</translation>
    </message>
    <message>
        <source>dictsort of a value of type %1</source>
        <comment>dictsort_of_type</comment>
        <translation>dictsort của giá trị kiểu %1</translation>
    </message>
    <message>
        <source>indent with such a width</source>
        <comment>indent_width</comment>
        <translation>indent với độ rộng như vậy</translation>
    </message>
    <message>
        <source>strftime_now without a format</source>
        <comment>strftime_without_format</comment>
        <translation>strftime_now không có định dạng</translation>
    </message>
    <message>
        <source>strftime_now with the directive &apos;%1&apos;</source>
        <comment>strftime_directive</comment>
        <translation>strftime_now với chỉ thị &apos;%1&apos;</translation>
    </message>
    <message>
        <source>tojson with such an indent</source>
        <comment>tojson_indent</comment>
        <translation>tojson với độ thụt dòng như vậy</translation>
    </message>
    <message>
        <source>tojson: a key of type %1</source>
        <comment>tojson_key_of_type</comment>
        <translation>tojson: khóa kiểu %1</translation>
    </message>
    <message>
        <source>tojson: a value of type %1</source>
        <comment>tojson_of_type</comment>
        <translation>tojson: giá trị kiểu %1</translation>
    </message>
    <message>
        <source>replace needs two texts</source>
        <comment>replace_needs_texts</comment>
        <translation>replace cần hai đoạn văn bản</translation>
    </message>
    <message>
        <source>replace with a count that is no number</source>
        <comment>replace_count</comment>
        <translation>replace với số lần không phải là số</translation>
    </message>
    <message>
        <source>int of an undefined value</source>
        <comment>int_of_undefined</comment>
        <translation>int của một giá trị chưa được định nghĩa</translation>
    </message>
    <message>
        <source>float of an undefined value</source>
        <comment>float_of_undefined</comment>
        <translation>float của một giá trị chưa được định nghĩa</translation>
    </message>
    <message>
        <source>items of a value of type %1</source>
        <comment>items_of_type</comment>
        <translation>items của giá trị kiểu %1</translation>
    </message>
    <message>
        <source>abs of a value of type %1</source>
        <comment>abs_of_type</comment>
        <translation>abs của giá trị kiểu %1</translation>
    </message>
    <message>
        <source>a filter of lists with named arguments</source>
        <comment>list_filter_with_names</comment>
        <translation>bộ lọc danh sách với đối số có tên</translation>
    </message>
    <message>
        <source>selectattr without an attribute</source>
        <comment>selectattr_without_attribute</comment>
        <translation>selectattr không có thuộc tính</translation>
    </message>
    <message>
        <source>a test&apos;s name of type %1</source>
        <comment>test_name_of_type</comment>
        <translation>tên phép thử thuộc kiểu %1</translation>
    </message>
    <message>
        <source>map without a filter or an attribute</source>
        <comment>map_without_filter</comment>
        <translation>map không có bộ lọc hay thuộc tính</translation>
    </message>
    <message>
        <source>a filter&apos;s name of type %1</source>
        <comment>filter_name_of_type</comment>
        <translation>tên bộ lọc thuộc kiểu %1</translation>
    </message>
    <message>
        <source>map of map</source>
        <comment>map_of_map</comment>
        <translation>map của map</translation>
    </message>
    <message>
        <source>the filter &apos;%1&apos;</source>
        <comment>the_filter</comment>
        <translation>bộ lọc &apos;%1&apos;</translation>
    </message>
    <message>
        <source>the test &apos;%1&apos;</source>
        <comment>the_test</comment>
        <translation>phép thử &apos;%1&apos;</translation>
    </message>
    <message>
        <source>the test &apos;%1&apos; without a value</source>
        <comment>test_without_value</comment>
        <translation>phép thử &apos;%1&apos; không có giá trị</translation>
    </message>
    <message>
        <source>printing a %1</source>
        <comment>printing_type</comment>
        <translation>in ra một %1</translation>
    </message>
    <message>
        <source>%1 (emulated)</source>
        <comment>emulated_device</comment>
        <translation>%1 (giả lập)</translation>
    </message>
    <message>
        <source>The experts cannot be dealt out to %1 machines: a layer has %2, and each machine needs one of them; expected 1 to %3 machines.</source>
        <comment>too_many_machines</comment>
        <translation>Không thể chia chuyên gia cho %1 máy: một lớp có %2, và mỗi máy cần một chuyên gia; cần từ 1 đến %3 máy.</translation>
    </message>
    <message>
        <source>There is no network &quot;%1&quot;; there are %2.</source>
        <comment>no_such_network</comment>
        <translation>Không có mạng &quot;%1&quot;; hiện có %2.</translation>
    </message>
    <message>
        <source>1 Gbit Ethernet</source>
        <comment>ethernet_1g</comment>
        <translation>Ethernet 1 Gbit</translation>
    </message>
    <message>
        <source>10 Gbit Ethernet</source>
        <comment>ethernet_10g</comment>
        <translation>Ethernet 10 Gbit</translation>
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
        <translation>tốc độ đường truyền; 1 ms mỗi thông điệp qua TCP, như đo được trên Ethernet 10 Gbit</translation>
    </message>
    <message>
        <source>line rate; 1 ms a message over TCP, measured on a cluster of four</source>
        <comment>network_figures_tcp_cluster</comment>
        <translation>tốc độ đường truyền; 1 ms mỗi thông điệp qua TCP, đo trên một cụm bốn máy</translation>
    </message>
    <message>
        <source>line rate and latency as the network card&apos;s maker gives them</source>
        <comment>network_figures_of_maker</comment>
        <translation>tốc độ đường truyền và độ trễ theo công bố của nhà sản xuất card mạng</translation>
    </message>
    <message>
        <source>There is no model at %1; expected a GGUF file, or a folder with config.json.</source>
        <comment>no_model_at</comment>
        <translation>Không có mô hình tại %1; cần một tệp GGUF, hoặc một thư mục có config.json.</translation>
    </message>
    <message>
        <source>%1 is no model file; expected a GGUF file, or a folder with config.json, or its config.json or *.safetensors.</source>
        <comment>no_model_file</comment>
        <translation>%1 không phải tệp mô hình; cần một tệp GGUF, một thư mục có config.json, hoặc tệp config.json hay *.safetensors trong đó.</translation>
    </message>
    <message>
        <source>%1: config.json is missing; expected a model&apos;s folder with config.json, the tokenizer&apos;s files, and model.safetensors or model.safetensors.index.json with its shards, or a GGUF file</source>
        <comment>config_missing</comment>
        <translation>%1: thiếu config.json; cần thư mục của một mô hình có config.json, các tệp của tokenizer, và model.safetensors hoặc model.safetensors.index.json cùng các phần của nó, hoặc một tệp GGUF</translation>
    </message>
    <message>
        <source>%1: config.json is missing; expected a model&apos;s folder with config.json, the tokenizer&apos;s files, and model.safetensors or model.safetensors.index.json with its shards, or a GGUF file (%2 is there, a format that Offstage does not read)</source>
        <comment>config_missing_foreign_files</comment>
        <translation>%1: thiếu config.json; cần thư mục của một mô hình có config.json, các tệp của tokenizer, và model.safetensors hoặc model.safetensors.index.json cùng các phần của nó, hoặc một tệp GGUF (có %2, một định dạng mà Offstage không đọc)</translation>
    </message>
    <message>
        <source>%1: holds %2 GGUF models (%3 ...); expected the path of one of them</source>
        <comment>many_gguf_models</comment>
        <translation>%1: có %2 mô hình GGUF (%3 ...); cần đường dẫn của một trong số đó</translation>
    </message>
    <message>
        <source>%1: is missing; expected all %2 parts of this model in one folder</source>
        <comment>part_missing</comment>
        <translation>%1: bị thiếu; cần đủ %2 phần của mô hình này trong một thư mục</translation>
    </message>
    <message>
        <source>%1: byte %2: %3; expected %4</source>
        <comment>byte_rejected</comment>
        <translation>%1: byte %2: %3; cần %4</translation>
    </message>
    <message>
        <source>the file begins with %1</source>
        <comment>file_begins_with</comment>
        <translation>tệp bắt đầu bằng %1</translation>
    </message>
    <message>
        <source>%1: is a big-endian GGUF file; expected a little-endian one</source>
        <comment>gguf_big_endian</comment>
        <translation>%1: là tệp GGUF kiểu big-endian; cần tệp kiểu little-endian</translation>
    </message>
    <message>
        <source>the number of tensors</source>
        <comment>number_of_tensors</comment>
        <translation>số lượng tensor</translation>
    </message>
    <message>
        <source>the number of metadata pairs</source>
        <comment>number_of_metadata_pairs</comment>
        <translation>số cặp siêu dữ liệu</translation>
    </message>
    <message>
        <source>a metadata key</source>
        <comment>a_metadata_key</comment>
        <translation>một khóa siêu dữ liệu</translation>
    </message>
    <message>
        <source>the metadata %1</source>
        <comment>the_metadata</comment>
        <translation>siêu dữ liệu %1</translation>
    </message>
    <message>
        <source>the metadata %1, its type,</source>
        <comment>metadata_type</comment>
        <translation>siêu dữ liệu %1, kiểu của nó,</translation>
    </message>
    <message>
        <source>%1, the type of its items,</source>
        <comment>type_of_items</comment>
        <translation>%1, kiểu của các mục,</translation>
    </message>
    <message>
        <source>the length of %1</source>
        <comment>length_of</comment>
        <translation>độ dài của %1</translation>
    </message>
    <message>
        <source>a tensor&apos;s name</source>
        <comment>a_tensor_name</comment>
        <translation>tên của một tensor</translation>
    </message>
    <message>
        <source>a type from 0 to 12</source>
        <comment>a_type_to_12</comment>
        <translation>một kiểu từ 0 đến 12</translation>
    </message>
    <message>
        <source>%1 is a list of lists of lists</source>
        <comment>list_of_lists_of_lists</comment>
        <translation>%1 là danh sách của danh sách của danh sách</translation>
    </message>
    <message>
        <source>fewer levels</source>
        <comment>fewer_levels</comment>
        <translation>ít tầng hơn</translation>
    </message>
    <message>
        <source>%1 is there twice</source>
        <comment>is_there_twice</comment>
        <translation>%1 có hai lần</translation>
    </message>
    <message>
        <source>each once</source>
        <comment>each_once</comment>
        <translation>mỗi thứ một lần</translation>
    </message>
    <message>
        <source>a power of two; the file is damaged: fetch it again</source>
        <comment>a_power_of_two</comment>
        <translation>một lũy thừa của hai; tệp bị hỏng: hãy tải lại</translation>
    </message>
    <message>
        <source>tensor %1</source>
        <comment>a_tensor</comment>
        <translation>tensor %1</translation>
    </message>
    <message>
        <source>%1 has %2 dimensions</source>
        <comment>has_dimensions</comment>
        <translation>%1 có %2 chiều</translation>
    </message>
    <message>
        <source>at most 4</source>
        <comment>at_most_4</comment>
        <translation>tối đa 4</translation>
    </message>
    <message>
        <source>%1 has a dimension of %2</source>
        <comment>has_a_dimension_of</comment>
        <translation>%1 có một chiều bằng %2</translation>
    </message>
    <message>
        <source>fewer than 2^59 weights</source>
        <comment>fewer_weights</comment>
        <translation>ít hơn 2^59 trọng số</translation>
    </message>
    <message>
        <source>%1: tensor %2 begins at byte %3 of the data; expected a multiple of the alignment, %4; the file is damaged: fetch it again</source>
        <comment>tensor_alignment</comment>
        <translation>%1: tensor %2 bắt đầu tại byte %3 của dữ liệu; cần một bội số của căn chỉnh, %4; tệp bị hỏng: hãy tải lại</translation>
    </message>
    <message>
        <source>a list of lists</source>
        <comment>a_list_of_lists</comment>
        <translation>một danh sách của danh sách</translation>
    </message>
    <message>
        <source>a list of texts</source>
        <comment>a_list_of_texts</comment>
        <translation>một danh sách văn bản</translation>
    </message>
    <message>
        <source>a list of integers</source>
        <comment>a_list_of_integers</comment>
        <translation>một danh sách số nguyên</translation>
    </message>
    <message>
        <source>a list of numbers</source>
        <comment>a_list_of_numbers</comment>
        <translation>một danh sách số</translation>
    </message>
    <message>
        <source>the name that this part had, -00001-of-%1.gguf at its end, with the others beside it</source>
        <comment>a_part_name</comment>
        <translation>tên ban đầu của phần này, kết thúc bằng -00001-of-%1.gguf, cùng các phần khác bên cạnh</translation>
    </message>
    <message>
        <source>%1, as its name says</source>
        <comment>as_its_name_says</comment>
        <translation>%1, như tên của nó nói</translation>
    </message>
    <message>
        <source>%1: tensor %2 is in another part of the model too; expected it once</source>
        <comment>tensor_in_two_parts</comment>
        <translation>%1: tensor %2 cũng có trong một phần khác của mô hình; cần chỉ một lần</translation>
    </message>
    <message>
        <source>%1: &quot;general.architecture&quot; %2 is not supported; supported: %3</source>
        <comment>gguf_architecture_unsupported</comment>
        <translation>%1: &quot;general.architecture&quot; %2 không được hỗ trợ; được hỗ trợ: %3</translation>
    </message>
    <message>
        <source>%1: tensor %2 is missing or no list of F32; expected the factors of rotary positions</source>
        <comment>rope_factors_missing</comment>
        <translation>%1: tensor %2 bị thiếu hoặc không phải danh sách F32; cần các hệ số của vị trí xoay</translation>
    </message>
    <message>
        <source>%1: tensor &quot;rope_freqs.weight&quot; has factors of its own for the pairs that turn, which is not supported; expected 1, and then at least 1e20</source>
        <comment>rope_factors_unsupported</comment>
        <translation>%1: tensor &quot;rope_freqs.weight&quot; có hệ số riêng cho các cặp xoay, điều này không được hỗ trợ; cần 1, rồi ít nhất 1e20</translation>
    </message>
    <message>
        <source>a list of %1 booleans</source>
        <comment>a_list_of_booleans</comment>
        <translation>danh sách gồm %1 giá trị đúng/sai</translation>
    </message>
    <message>
        <source>a number for each of %1 layers</source>
        <comment>a_number_for_each_layer</comment>
        <translation>một số cho mỗi lớp trong %1 lớp</translation>
    </message>
    <message>
        <source>The file&apos;s layers that predict further tokens are not used (%1, tensors: %2).</source>
        <comment>unused_prediction_layers</comment>
        <translation>Các lớp dự đoán token tiếp theo trong tệp không được dùng (%1, số tensor: %2).</translation>
    </message>
    <message>
        <source>The file&apos;s vision tower is not used (%1, tensors: %2): text alone is read.</source>
        <comment>unused_vision_tower</comment>
        <translation>Phần thị giác của tệp không được dùng (%1, số tensor: %2): chỉ đọc văn bản.</translation>
    </message>
    <message>
        <source>The file&apos;s audio tower is not used (%1, tensors: %2): text alone is read.</source>
        <comment>unused_audio_tower</comment>
        <translation>Phần âm thanh của tệp không được dùng (%1, số tensor: %2): chỉ đọc văn bản.</translation>
    </message>
    <message>
        <source>Tensors of the file that nothing here knows are not used (%1, tensors: %2); the first is %3.</source>
        <comment>unused_tensors</comment>
        <translation>Các tensor trong tệp mà chương trình không biết sẽ không được dùng (%1, số tensor: %2); tensor đầu tiên là %3.</translation>
    </message>
    <message>
        <source>%1: tensor &quot;token_embd.weight&quot; is missing or no matrix; expected the tokens&apos; embedding</source>
        <comment>embedding_missing</comment>
        <translation>%1: tensor &quot;token_embd.weight&quot; bị thiếu hoặc không phải ma trận; cần bảng nhúng của các token</translation>
    </message>
    <message>
        <source>%1: tensor %2 has dtype %3; expected %4</source>
        <comment>tensor_dtype_differs</comment>
        <translation>%1: tensor %2 có dtype %3; cần %4</translation>
    </message>
    <message>
        <source>%1: tensor %2 has blocks of %3 weights that are no parts of rows of %4; expected whole blocks in each row of inputs</source>
        <comment>tensor_blocks_split</comment>
        <translation>%1: tensor %2 có các khối %3 trọng số không phải là phần của các hàng %4; cần khối nguyên trong mỗi hàng đầu vào</translation>
    </message>
    <message>
        <source>%1: the experts of layer %2 are in several formats, %3 and %4 among them; expected one for all experts of a layer</source>
        <comment>expert_formats_differ</comment>
        <translation>%1: các chuyên gia của lớp %2 ở nhiều định dạng, trong đó có %3 và %4; cần một định dạng cho mọi chuyên gia của một lớp</translation>
    </message>
    <message>
        <source>%1: its layers have experts in more than %2 combinations of formats; expected no more</source>
        <comment>too_many_format_mixes</comment>
        <translation>%1: các lớp của nó có chuyên gia ở nhiều hơn %2 tổ hợp định dạng; cần không nhiều hơn</translation>
    </message>
    <message>
        <source>%1: &quot;tokenizer.ggml.model&quot; is %2; expected one of llama, gpt2, gemma4</source>
        <comment>tokenizer_model_unsupported</comment>
        <translation>%1: &quot;tokenizer.ggml.model&quot; là %2; cần một trong llama, gpt2, gemma4</translation>
    </message>
    <message>
        <source>%1 of the model&apos;s dense matrices are in few bits already and stay as they are.</source>
        <comment>dense_matrices_stay</comment>
        <translation>%1 ma trận dày đặc của mô hình đã ở ít bit và được giữ nguyên.</translation>
    </message>
    <message>
        <source>sha256: and hexadecimal digits</source>
        <comment>sha256_digits</comment>
        <translation>sha256: và các chữ số thập lục phân</translation>
    </message>
    <message>
        <source>Quantized a second time: %1 experts go from the file&apos;s %2 to %3, with a relative squared error of %4 against the file.</source>
        <comment>quantized_twice</comment>
        <translation>Lượng tử hóa lần thứ hai: %1 chuyên gia chuyển từ %2 của tệp sang %3, với sai số bình phương tương đối %4 so với tệp.</translation>
    </message>
    <message>
        <source>%1 (as in the file)</source>
        <comment>as_in_the_file</comment>
        <translation>%1 (như trong tệp)</translation>
    </message>
    <message>
        <source>&quot;GGUF&quot;; it looks like a Git LFS pointer: fetch the file itself, &quot;git lfs pull&quot;</source>
        <comment>gguf_not_lfs_pointer</comment>
        <translation>&quot;GGUF&quot;; trông giống con trỏ Git LFS: hãy tải chính tệp đó, &quot;git lfs pull&quot;</translation>
    </message>
    <message>
        <source>&quot;GGUF&quot;; it looks like a web page: fetch the file itself</source>
        <comment>gguf_not_web_page</comment>
        <translation>&quot;GGUF&quot;; trông giống một trang web: hãy tải chính tệp đó</translation>
    </message>
    <message>
        <source>&quot;GGUF&quot;; it is of the time before GGUF: fetch a newer file of the model</source>
        <comment>gguf_not_older</comment>
        <translation>&quot;GGUF&quot;; tệp này có từ trước thời GGUF: hãy tải tệp mới hơn của mô hình</translation>
    </message>
    <message>
        <source>&quot;GGUF&quot;; it is another file or damaged: fetch it again</source>
        <comment>gguf_not_other_file</comment>
        <translation>&quot;GGUF&quot;; đây là một tệp khác hoặc bị hỏng: hãy tải lại</translation>
    </message>
    <message>
        <source>%1: tensor %2 begins at byte %3 of the data; expected no more than a file of %4 bytes can hold; the file is damaged: fetch it again</source>
        <comment>tensor_begins_outside</comment>
        <translation>%1: tensor %2 bắt đầu tại byte %3 của dữ liệu; cần không quá mức mà một tệp %4 byte có thể chứa; tệp bị hỏng: hãy tải lại</translation>
    </message>
    <message>
        <source>one of %1; take a file of this model in one of them, such as its Q4_K_M</source>
        <comment>a_readable_type</comment>
        <translation>một trong %1; hãy dùng tệp của mô hình này ở một trong các kiểu đó, chẳng hạn Q4_K_M</translation>
    </message>
    <message>
        <source>%1 has rows of %2 weights in %3</source>
        <comment>has_rows_of</comment>
        <translation>%1 có các hàng %2 trọng số kiểu %3</translation>
    </message>
    <message>
        <source>a multiple of %1</source>
        <comment>a_multiple_of</comment>
        <translation>một bội số của %1</translation>
    </message>
    <message>
        <source>%1: is GGUF version %2; expected version 2 or 3: fetch a newer file of the model</source>
        <comment>gguf_version</comment>
        <translation>%1: là GGUF phiên bản %2; cần phiên bản 2 hoặc 3: hãy tải tệp mới hơn của mô hình</translation>
    </message>
    <message>
        <source>no more than a file of %1 bytes can hold, and at most %2: fetch it again</source>
        <comment>no_more_than_file_holds</comment>
        <translation>không quá mức mà một tệp %1 byte có thể chứa, và nhiều nhất %2: hãy tải lại</translation>
    </message>
    <message>
        <source>%1: is a link to %2, which is missing; expected a file there: fetch it again</source>
        <comment>link_to_nothing</comment>
        <translation>%1: là liên kết tới %2, mà tệp đó không còn; cần một tệp ở đó: hãy tải lại</translation>
    </message>
    <message>
        <source>%1: is missing; expected it, because Ollama&apos;s %2 is kept in it: fetch it again, &quot;ollama pull %3&quot;</source>
        <comment>ollama_blob_missing</comment>
        <translation>%1: bị thiếu; cần có vì %2 của Ollama nằm trong đó: hãy tải lại, &quot;ollama pull %3&quot;</translation>
    </message>
    <message>
        <source>Ollama&apos;s %1 is a model with an adapter (LoRA) beside it, which Offstage does not add to the weights; open the model that it was made from, or a GGUF file into which the adapter is merged (llama.cpp&apos;s llama-export-lora)</source>
        <comment>ollama_adapter</comment>
        <translation>%1 của Ollama là một mô hình có kèm bộ chuyển đổi (LoRA) mà Offstage không cộng vào trọng số; hãy mở mô hình gốc của nó, hoặc một tệp GGUF đã gộp bộ chuyển đổi (llama-export-lora của llama.cpp)</translation>
    </message>
    <message>
        <source>BF16, F16 or F32: take the model in one of these, or a GGUF file of it</source>
        <comment>readable_weights</comment>
        <translation>BF16, F16 hoặc F32: hãy lấy mô hình ở một trong các dạng này, hoặc tệp GGUF của nó</translation>
    </message>
    <message>
        <source>The chat template of %1 has no choice of thinking, so &quot;%2&quot; cannot be chosen; ask without it.</source>
        <comment>template_without_thinking</comment>
        <translation>Mẫu trò chuyện của %1 không cho chọn cách suy nghĩ, nên không chọn được &quot;%2&quot;; hãy hỏi mà không chọn.</translation>
    </message>
    <message>
        <source>The model %1 has no way of thinking &quot;%2&quot;; its chat template offers %3.</source>
        <comment>no_such_thinking</comment>
        <translation>Mô hình %1 không có cách suy nghĩ &quot;%2&quot;; mẫu trò chuyện của nó có %3.</translation>
    </message>
    <message>
        <source>Token %1 of the prompt is %2; expected 0 to %3, the vocabulary of %4.</source>
        <comment>prompt_token_out_of_range</comment>
        <translation>Token %1 của prompt là %2; cần từ 0 đến %3, từ vựng của %4.</translation>
    </message>
    <message>
        <source>Token %1 of the reply&apos;s beginning is %2; expected 0 to %3, the vocabulary of %4.</source>
        <comment>reply_token_out_of_range</comment>
        <translation>Token %1 ở đầu câu trả lời là %2; cần từ 0 đến %3, từ vựng của %4.</translation>
    </message>
    <message>
        <source>n_alternatives is %1; expected -1 to %2.</source>
        <comment>alternatives_out_of_range</comment>
        <translation>n_alternatives là %1; cần từ -1 đến %2.</translation>
    </message>
    <message>
        <source>This session has no tokenizer.</source>
        <comment>session_without_tokenizer</comment>
        <translation>Phiên này không có bộ tách token.</translation>
    </message>
    <message>
        <source>Offstage cannot listen on %1: %2</source>
        <comment>cannot_listen</comment>
        <translation>Offstage không thể lắng nghe tại %1: %2</translation>
    </message>
    <message>
        <source>another program listens there; stop it, or choose another port.</source>
        <comment>address_in_use</comment>
        <translation>một chương trình khác đang lắng nghe ở đó; hãy dừng nó hoặc chọn cổng khác.</translation>
    </message>
    <message>
        <source>this computer has no such address; choose one that it has.</source>
        <comment>address_not_here</comment>
        <translation>máy tính này không có địa chỉ như vậy; hãy chọn một địa chỉ mà máy có.</translation>
    </message>
    <message>
        <source>ports below 1024 are the administrator&apos;s; choose a larger one.</source>
        <comment>port_not_allowed</comment>
        <translation>các cổng dưới 1024 thuộc về quản trị viên; hãy chọn cổng lớn hơn.</translation>
    </message>
    <message>
        <source>choose another address.</source>
        <comment>choose_another_address</comment>
        <translation>hãy chọn địa chỉ khác.</translation>
    </message>
    <message>
        <source>&quot;%1&quot; is no address to listen on; expected a numeric ADDRESS:PORT like 127.0.0.1:8080 or [::1]:8080, or a port alone.</source>
        <comment>no_address</comment>
        <translation>&quot;%1&quot; không phải là địa chỉ để lắng nghe; cần ĐỊA_CHỈ:CỔNG bằng số như 127.0.0.1:8080 hoặc [::1]:8080, hoặc chỉ một cổng.</translation>
    </message>
    <message>
        <source>%1 is no web page&apos;s origin; expected scheme://host or scheme://host:port, like http://localhost:3000.</source>
        <comment>no_origin</comment>
        <translation>%1 không phải là nguồn gốc của trang web; cần scheme://host hoặc scheme://host:port, như http://localhost:3000.</translation>
    </message>
    <message>
        <source>The token file %1 cannot be made: %2.</source>
        <comment>token_file_not_made</comment>
        <translation>Không thể tạo tệp token %1: %2.</translation>
    </message>
    <message>
        <source>The token file %1 cannot be read: %2.</source>
        <comment>token_file_not_read</comment>
        <translation>Không thể đọc tệp token %1: %2.</translation>
    </message>
    <message>
        <source>Others than its owner may use the token file %1; make it private: chmod 600 %2</source>
        <comment>token_file_not_private</comment>
        <translation>Không chỉ chủ sở hữu được dùng tệp token %1; hãy đặt riêng tư: chmod 600 %2</translation>
    </message>
    <message>
        <source>The token file %1 holds no token; expected %2 to %3 printable characters without blanks, or no such file yet.</source>
        <comment>token_file_without_token</comment>
        <translation>Tệp token %1 không chứa token; cần từ %2 đến %3 ký tự in được, không có khoảng trắng, hoặc chưa có tệp như vậy.</translation>
    </message>
    <message>
        <source>%1 is %2</source>
        <comment>is_value</comment>
        <translation>%1 là %2</translation>
    </message>
    <message>
        <source>BF16, F16 or F32</source>
        <comment>plain_types</comment>
        <translation>BF16, F16 hoặc F32</translation>
    </message>
    <message>
        <source>The model does not fit in %1 of %2: dense weights (%3), room for other conversations (%4), the KV cache of %5 tokens (%6) and buffers (%7) need %8, %9 more.</source>
        <comment>vram_too_small_with_kept</comment>
        <translation>Mô hình không vừa %1 %2: trọng số dày đặc (%3), chỗ cho các cuộc trò chuyện khác (%4), bộ nhớ đệm KV cho %5 token (%6) và bộ đệm (%7) cần %8, nhiều hơn %9.</translation>
    </message>
    <message>
        <source>The model does not fit in %1 of %2: dense weights and room for experts from disk (%3), room for other conversations (%4), the KV cache of %5 tokens (%6) and buffers (%7) need %8, %9 more.</source>
        <comment>vram_too_small_with_disk_and_kept</comment>
        <translation>Mô hình không vừa %1 %2: trọng số dày đặc và chỗ cho chuyên gia từ đĩa (%3), chỗ cho các cuộc trò chuyện khác (%4), bộ nhớ đệm KV cho %5 token (%6) và bộ đệm (%7) cần %8, nhiều hơn %9.</translation>
    </message>
    <message>
        <source>The model does not fit in %1 of RAM: %2 are needed even with the experts on disk, room for other conversations (%3), %4 more.</source>
        <comment>ram_too_small_with_kept</comment>
        <translation>Mô hình không vừa %1 RAM: dù để chuyên gia trên đĩa vẫn cần %2, trong đó có chỗ cho các cuộc trò chuyện khác (%3), nhiều hơn %4.</translation>
    </message>
    <message>
        <source>The token file %1 is no file; expected one that holds the token.</source>
        <comment>token_file_is_no_file</comment>
        <translation>Tệp token %1 không phải là tệp; cần một tệp chứa token.</translation>
    </message>
    <message>
        <source>text</source>
        <comment>text_of_template</comment>
        <translation>văn bản</translation>
    </message>
    <message>
        <source>A thought is not valid UTF-8 at byte %1.</source>
        <comment>thought_not_utf8</comment>
        <translation>Một suy nghĩ không phải UTF-8 hợp lệ tại byte %1.</translation>
    </message>
    <message>
        <source>The token file %1 cannot be written: %2.</source>
        <comment>token_file_not_written</comment>
        <translation>Không thể ghi tệp token %1: %2.</translation>
    </message>
    <message>
        <source>%1: there is no such file of neuron thresholds</source>
        <comment>no_such_neuron_thresholds</comment>
        <translation>%1: không có tệp ngưỡng nơ-ron như vậy</translation>
    </message>
    <message>
        <source>a list of objects</source>
        <comment>a_list_of_threshold_rows</comment>
        <translation>một danh sách các đối tượng</translation>
    </message>
    <message>
        <source>rows whose &quot;theta&quot; is above 0 and ascends</source>
        <comment>ascending_thresholds</comment>
        <translation>các dòng có &quot;theta&quot; lớn hơn 0 và tăng dần</translation>
    </message>
    <message>
        <source>%1 is connected: it holds %2 of %3 experts; %4 ms there and back, %5 MB/s.</source>
        <comment>node_is_used</comment>
        <translation>%1 đã kết nối: máy giữ %2 trong %3 chuyên gia; %4 ms đi và về, %5 MB/s.</translation>
    </message>
    <message>
        <source>%1 cannot be reached (%2), so its experts run here; is offstage-node running there, and paired with this computer?</source>
        <comment>node_not_reached</comment>
        <translation>Không kết nối được với %1 (%2), nên các chuyên gia của máy đó chạy ở đây; offstage-node có đang chạy ở đó và đã ghép đôi với máy tính này chưa?</translation>
    </message>
    <message>
        <source>cancelled</source>
        <comment>node_test_cancelled</comment>
        <translation>đã hủy</translation>
    </message>
    <message>
        <source>%1 does not answer (%2); is offstage-node running there, and paired with this computer?</source>
        <comment>node_test_failed</comment>
        <translation>%1 không trả lời (%2); offstage-node có đang chạy ở đó và đã ghép đôi với máy tính này chưa?</translation>
    </message>
    <message>
        <source>%1 refuses to work for this computer: %2</source>
        <comment>node_refuses</comment>
        <translation>%1 từ chối làm việc cho máy tính này: %2</translation>
    </message>
    <message>
        <source>%1 is gone (%2): what it held is computed here or by another machine from now on, and the answer is the same.</source>
        <comment>node_lost</comment>
        <translation>%1 đã mất kết nối (%2): từ giờ phần máy đó giữ được tính ở đây hoặc trên máy khác, và câu trả lời vẫn như cũ.</translation>
    </message>
    <message>
        <source>%1 is back and is used again.</source>
        <comment>node_is_back</comment>
        <translation>%1 đã trở lại và lại được dùng.</translation>
    </message>
    <message>
        <source>Without %1 a token takes %2 ms; with it, it took %3 ms.</source>
        <comment>node_loss_costs</comment>
        <translation>Không có %1, một token mất %2 ms; khi có máy đó là %3 ms.</translation>
    </message>
    <message>
        <source>no answer for %1 s</source>
        <comment>node_is_silent</comment>
        <translation>không trả lời trong %1 giây</translation>
    </message>
    <message>
        <source>it sent what is no answer: %1</source>
        <comment>node_sent_nonsense</comment>
        <translation>máy đó gửi thứ không phải là câu trả lời: %1</translation>
    </message>
    <message>
        <source>it could not compute: %1</source>
        <comment>node_could_not_compute</comment>
        <translation>máy đó không tính được: %1</translation>
    </message>
    <message>
        <source>it is being shut down</source>
        <comment>node_says_farewell</comment>
        <translation>máy đó đang tắt</translation>
    </message>
    <message>
        <source>the connection ended</source>
        <comment>node_link_ended</comment>
        <translation>kết nối đã ngắt</translation>
    </message>
    <message>
        <source>%1 has no room for an expert of this model; raise its --ram.</source>
        <comment>node_holds_nothing</comment>
        <translation>%1 không có chỗ cho một chuyên gia nào của mô hình này; hãy tăng --ram ở đó.</translation>
    </message>
    <message>
        <source>%1 computes with %2, this computer with %3: last bits differ between the two.</source>
        <comment>node_rounds_otherwise</comment>
        <translation>%1 tính bằng %2, máy tính này bằng %3: các bit cuối khác nhau giữa hai máy.</translation>
    </message>
    <message>
        <source>activations go to other machines in bf16: answers differ in rounding from those of one machine</source>
        <comment>node_activations_rounded</comment>
        <translation>các giá trị kích hoạt được gửi sang máy khác ở bf16: câu trả lời khác ở phần làm tròn so với khi chạy trên một máy</translation>
    </message>
    <message>
        <source>%1 machines are more than can be used at once; expected at most %2.</source>
        <comment>too_many_nodes</comment>
        <translation>%1 máy là nhiều hơn số máy có thể dùng cùng lúc; cần tối đa %2.</translation>
    </message>
    <message>
        <source>Experts on other machines</source>
        <comment>loading_experts_elsewhere</comment>
        <translation>Chuyên gia trên các máy khác</translation>
    </message>
    <message>
        <source>&quot;%1&quot; is no word of a pairing code; expected the eight words that offstage-node pair shows.</source>
        <comment>pairing_word_unknown</comment>
        <translation>&quot;%1&quot; không phải là từ của mã ghép đôi; cần tám từ mà offstage-node pair hiển thị.</translation>
    </message>
    <message>
        <source>A pairing code has %1 words, this one %2.</source>
        <comment>pairing_words_missing</comment>
        <translation>Mã ghép đôi có %1 từ, mã này có %2.</translation>
    </message>
    <message>
        <source>&quot;%1&quot; is no address of a machine; expected HOST, HOST:PORT or [ADDRESS]:PORT.</source>
        <comment>node_address_invalid</comment>
        <translation>&quot;%1&quot; không phải là địa chỉ của một máy; cần HOST, HOST:PORT hoặc [ĐỊA CHỈ]:PORT.</translation>
    </message>
    <message>
        <source>This machine&apos;s key cannot be made in %1: %2.</source>
        <comment>identity_not_made</comment>
        <translation>Không tạo được khóa của máy này trong %1: %2.</translation>
    </message>
    <message>
        <source>%1 holds no key and certificate that belong together; remove the two files, and pair anew.</source>
        <comment>identity_unreadable</comment>
        <translation>%1 không có khóa và chứng chỉ khớp nhau; hãy xóa hai tệp đó và ghép đôi lại.</translation>
    </message>
    <message>
        <source>Others than its owner may read this machine&apos;s key %1; make it private: chmod 600 %2</source>
        <comment>identity_not_private</comment>
        <translation>Không chỉ chủ sở hữu đọc được khóa của máy này %1; hãy đặt riêng tư: chmod 600 %2</translation>
    </message>
    <message>
        <source>What is known of other machines cannot be written to %1: %2.</source>
        <comment>peers_not_written</comment>
        <translation>Không ghi được thông tin về các máy khác vào %1: %2.</translation>
    </message>
    <message>
        <source>%1 does not say which machines are known: %2; remove the file, and pair anew.</source>
        <comment>peers_invalid</comment>
        <translation>%1 không cho biết những máy nào đã biết: %2; hãy xóa tệp đó và ghép đôi lại.</translation>
    </message>
    <message>
        <source>No machine &quot;%1&quot; is paired with this one; %2.</source>
        <comment>no_such_peer</comment>
        <translation>Không có máy &quot;%1&quot; nào được ghép đôi với máy này; %2.</translation>
    </message>
    <message>
        <source>there are %1</source>
        <comment>peers_are</comment>
        <translation>hiện có %1</translation>
    </message>
    <message>
        <source>none is: offstage-node pair there and offstage-cli nodes pair here make a pair</source>
        <comment>no_peers_yet</comment>
        <translation>chưa có máy nào: offstage-node pair ở đó và offstage-cli nodes pair ở đây sẽ ghép đôi hai máy</translation>
    </message>
    <message>
        <source>Nothing shows a pairing code at %1 (%2); start offstage-node pair there, and use the address that it shows.</source>
        <comment>pairing_not_reached</comment>
        <translation>Ở %1 không có gì đang hiển thị mã ghép đôi (%2); hãy chạy offstage-node pair ở đó và dùng địa chỉ mà nó hiển thị.</translation>
    </message>
    <message>
        <source>Pairing was cancelled; nothing was stored.</source>
        <comment>pairing_cancelled</comment>
        <translation>Đã hủy ghép đôi; không lưu gì cả.</translation>
    </message>
    <message>
        <source>%1 does not accept this code; expected the one that offstage-node pair shows there now. A code is good for one pair.</source>
        <comment>pairing_refused</comment>
        <translation>%1 không chấp nhận mã này; cần mã mà offstage-node pair đang hiển thị ở đó. Mỗi mã chỉ dùng cho một lần ghép đôi.</translation>
    </message>
    <message>
        <source>What answers at %1 does not know the code, so it may be another machine than the one that shows it: nothing was stored.</source>
        <comment>pairing_not_proven</comment>
        <translation>Thứ trả lời ở %1 không biết mã, nên có thể là máy khác với máy đang hiển thị mã: không lưu gì cả.</translation>
    </message>
    <message>
        <source>a list of at most 16 objects</source>
        <comment>a_list_of_chosen_thresholds</comment>
        <translation>một danh sách có nhiều nhất 16 đối tượng</translation>
    </message>
    <message>
        <source>objects whose &quot;loss&quot; is above 0 and ascends</source>
        <comment>ascending_losses</comment>
        <translation>các đối tượng có “loss” lớn hơn 0 và tăng dần</translation>
    </message>
    <message>
        <source>a list with a share from 0 to 1 for each layer</source>
        <comment>a_share_for_each_layer</comment>
        <translation>một danh sách có tỷ lệ từ 0 đến 1 cho mỗi lớp</translation>
    </message>
    <message>
        <source>a list for each layer, each of as many numbers from 0 to 1e6</source>
        <comment>a_theta_for_each_expert</comment>
        <translation>một danh sách cho mỗi lớp, mỗi danh sách có cùng số lượng số từ 0 đến 1e6</translation>
    </message>
    <message>
        <source>Chosen within a loss of %1 nats per token: %2 bits per expert weight, %3. Counted are %4 for the formats and %5 for the neurons, %6 in sum; each was measured alone, so that the sum is an estimate of both.</source>
        <comment>quality_traded</comment>
        <translation>Được chọn trong mức tổn thất %1 nat mỗi token: %2 bit mỗi trọng số chuyên gia, %3. Tính %4 cho các định dạng và %5 cho các nơ-ron, tổng cộng %6; mỗi phần được đo riêng, nên tổng là ước lượng cho cả hai.</translation>
    </message>
    <message>
        <source>neurons skipped by expert, for a loss of %1</source>
        <comment>left_out_by_expert</comment>
        <translation>bỏ qua nơ-ron theo từng chuyên gia, với tổn thất %1</translation>
    </message>
    <message>
        <source>neurons up to %1 skipped</source>
        <comment>left_out_up_to</comment>
        <translation>bỏ qua các nơ-ron đến %1</translation>
    </message>
    <message>
        <source>no neurons skipped</source>
        <comment>none_left_out</comment>
        <translation>không bỏ qua nơ-ron nào</translation>
    </message>
    <message>
        <source>What fewer bits cost was not measured of this model: “offstage-cli quantize-report --keep” does.</source>
        <comment>formats_without_a_loss</comment>
        <translation>Chưa đo việc dùng ít bit hơn làm mất gì ở mô hình này: “offstage-cli quantize-report --keep” sẽ đo.</translation>
    </message>
    <message>
        <source>What skipped neurons cost was not measured of this model: “offstage-cli sensitivity --keep” does.</source>
        <comment>neurons_without_a_loss</comment>
        <translation>Chưa đo việc bỏ qua nơ-ron làm mất gì ở mô hình này: “offstage-cli sensitivity --keep” sẽ đo.</translation>
    </message>
    <message>
        <source>A floor of measured loss cannot be kept: what is skipped, or how neurons are guessed, was not measured; expected what was, or nothing skipped.</source>
        <comment>left_out_without_a_loss</comment>
        <translation>Không thể giữ giới hạn tổn thất đo được: phần bị bỏ qua, hoặc cách phỏng đoán nơ-ron, chưa được đo; cần phần đã được đo, hoặc không bỏ qua gì.</translation>
    </message>
    <message>
        <source>The neurons that are skipped cost %1 nats per token, more than the floor of %2; expected a loss up to that.</source>
        <comment>left_out_above_the_floor</comment>
        <translation>Các nơ-ron bị bỏ qua làm mất %1 nat mỗi token, hơn giới hạn %2; cần tổn thất không quá mức đó.</translation>
    </message>
    <message>
        <source>each format once</source>
        <comment>each_format_once</comment>
        <translation>mỗi định dạng một lần</translation>
    </message>
    <message>
        <source>No thresholds are kept for %1 and a loss of at most %2; kept: %3. Choose them with offstage-cli sensitivity --thresholds-for-loss LOSS --keep.</source>
        <comment>no_thresholds_for_loss</comment>
        <translation>Không có ngưỡng nào được lưu cho %1 với tổn thất tối đa %2; đã lưu: %3. Chọn chúng bằng offstage-cli sensitivity --thresholds-for-loss LOSS --keep.</translation>
    </message>
    <message>
        <source>none</source>
        <comment>no_thresholds_kept</comment>
        <translation>không có</translation>
    </message>
    <message>
        <source>The thresholds kept beside %1 are of %2 layers of %3 experts, the model has %4 of %5. Choose them anew with offstage-cli sensitivity --thresholds-for-loss LOSS --keep.</source>
        <comment>thresholds_of_another_model</comment>
        <translation>Các ngưỡng được lưu bên cạnh %1 là của %2 lớp với %3 chuyên gia, mô hình có %4 lớp với %5. Chọn lại bằng offstage-cli sensitivity --thresholds-for-loss LOSS --keep.</translation>
    </message>
    <message>
        <source>%1 makes no whole steps for this computer: %2</source>
        <comment>node_cannot_follow</comment>
        <translation>%1 không thực hiện cả bước cho máy tính này: %2</translation>
    </message>
    <message>
        <source>The other machines compute experts for this one (forecast: %1 ms a token; if each made every step itself: %2 ms).</source>
        <comment>node_shape_helpers</comment>
        <translation>Các máy khác tính chuyên gia cho máy này (dự báo: %1 ms mỗi token; nếu mỗi máy tự thực hiện mọi bước: %2 ms).</translation>
    </message>
    <message>
        <source>Every machine makes each step itself and computes its share of the experts (forecast: %1 ms a token; if the others computed experts for this one: %2 ms).</source>
        <comment>node_shape_decentralised</comment>
        <translation>Mỗi máy tự thực hiện mọi bước và tính phần chuyên gia của mình (dự báo: %1 ms mỗi token; nếu các máy khác tính chuyên gia cho máy này: %2 ms).</translation>
    </message>
    <message>
        <source>The other machines compute experts for this one: nothing is known that a forecast of the other shape could be made of.</source>
        <comment>node_shape_not_forecast</comment>
        <translation>Các máy khác tính chuyên gia cho máy này: chưa biết gì để dự báo cho cách chia kia.</translation>
    </message>
    <message>
        <source>Of an answer like this one this computer makes the steps alone: beams, several answers at once and neurons skipped expert by expert are nothing that machines do together.</source>
        <comment>node_steps_alone</comment>
        <translation>Các bước của câu trả lời như thế này do máy tính này làm một mình: beam, nhiều câu trả lời cùng lúc và nơ-ron bỏ qua theo từng chuyên gia không phải là việc các máy làm chung.</translation>
    </message>
    <message>
        <source>The plan now keeps the KV cache in another type than the other machines do: this computer makes the steps alone until they are connected to anew.</source>
        <comment>node_steps_alone_for_kv</comment>
        <translation>Kế hoạch nay giữ bộ đệm KV ở kiểu khác với các máy khác: máy tính này thực hiện các bước một mình cho đến khi chúng được kết nối lại.</translation>
    </message>
    <message>
        <source>it sent more of the layers to come than is kept for them</source>
        <comment>node_ran_ahead</comment>
        <translation>máy đó gửi nhiều dữ liệu của các lớp sắp tới hơn mức được giữ lại</translation>
    </message>
    <message>
        <source>%1 computes tokens without CUDA graphs from now on: %2</source>
        <comment>graphs_given_up</comment>
        <translation>Từ giờ %1 tính token mà không dùng đồ thị CUDA: %2</translation>
    </message>
    <message>
        <source>%1 and %2 are connected to each other: %3 ms there and back, %4 MB/s.</source>
        <comment>node_pair_is_direct</comment>
        <translation>%1 và %2 được kết nối với nhau: %3 ms khứ hồi, %4 MB/s.</translation>
    </message>
    <message>
        <source>%1 and %2 are not connected to each other (%3): what they send each other goes by this computer.</source>
        <comment>node_pair_by_desktop</comment>
        <translation>%1 và %2 không được kết nối với nhau (%3): những gì chúng gửi cho nhau đi qua máy tính này.</translation>
    </message>
    <message>
        <source>%1 and %2 are no longer connected to each other: as helpers they send each other nothing.</source>
        <comment>node_pair_parted</comment>
        <translation>%1 và %2 không còn được kết nối với nhau: là máy trợ giúp, chúng không gửi gì cho nhau.</translation>
    </message>
    <message>
        <source>By what experts were found to take since, %1 now computes %2 of %3 experts in each step (before: %4).</source>
        <comment>node_share_changed</comment>
        <translation>Theo thời gian các chuyên gia đã cần từ đó, %1 nay tính %2 trong %3 chuyên gia ở mỗi bước (trước đây: %4).</translation>
    </message>
    <message>
        <source>%1 was measured again: it computes experts %2 times faster than measured before.</source>
        <comment>node_is_faster</comment>
        <translation>%1 đã được đo lại: máy này tính chuyên gia nhanh gấp %2 lần so với lần đo trước.</translation>
    </message>
    <message>
        <source>%1 was measured again: it computes experts %2 times slower than measured before.</source>
        <comment>node_is_slower</comment>
        <translation>%1 đã được đo lại: máy này tính chuyên gia chậm hơn %2 lần so với lần đo trước.</translation>
    </message>
    <message>
        <source>From this answer on the other machines compute experts for this one: by what they and their links were found to take since, that is forecast to take %1 ms a token, and %2 ms if each made every step itself.</source>
        <comment>node_shape_now_helpers</comment>
        <translation>Từ câu trả lời này, các máy khác tính chuyên gia cho máy này: theo thời gian đo được từ đó của chúng và các liên kết, dự báo mỗi token mất %1 ms, và %2 ms nếu mỗi máy tự thực hiện mọi bước.</translation>
    </message>
    <message>
        <source>From this answer on every machine makes each step itself and computes its share of the experts: by what they and their links were found to take since, that is forecast to take %1 ms a token, and %2 ms if the others computed experts for this one.</source>
        <comment>node_shape_now_decentralised</comment>
        <translation>Từ câu trả lời này, mỗi máy tự thực hiện mọi bước và tính phần chuyên gia của mình: theo thời gian đo được từ đó của chúng và các liên kết, dự báo mỗi token mất %1 ms, và %2 ms nếu các máy khác tính chuyên gia cho máy này.</translation>
    </message>
    <message>
        <source>The link to %1 was measured again: messages take %2 ms there and back (before: %3).</source>
        <comment>node_link_is_faster</comment>
        <translation>Liên kết tới %1 đã được đo lại: một thông điệp đi và về mất %2 ms (trước đó: %3).</translation>
    </message>
    <message>
        <source>The link to %1 has become slower: messages take %2 ms there and back (before: %3).</source>
        <comment>node_link_is_slower</comment>
        <translation>Liên kết tới %1 đã chậm đi: một thông điệp đi và về mất %2 ms (trước đó: %3).</translation>
    </message>
    <message>
        <source>%1 has become slower in use: an expert takes %2 ms there, its way included (before: %3 ms), so less is computed there.</source>
        <comment>node_use_is_slower</comment>
        <translation>Khi sử dụng, %1 đã chậm đi: một chuyên gia ở đó mất %2 ms kể cả đường truyền (trước đó: %3 ms), nên ở đó được tính ít hơn.</translation>
    </message>
    <message>
        <source>%1 has become faster in use: an expert takes %2 ms there, its way included (before: %3 ms), so more is computed there.</source>
        <comment>node_use_is_faster</comment>
        <translation>Khi sử dụng, %1 đã nhanh hơn: một chuyên gia ở đó mất %2 ms kể cả đường truyền (trước đó: %3 ms), nên ở đó được tính nhiều hơn.</translation>
    </message>
    <message>
        <source>a list of %1: %2</source>
        <comment>a_list_of_values</comment>
        <translation>danh sách gồm %1 mục: %2</translation>
    </message>
    <message>
        <source>one number, or a list that has it for every layer</source>
        <comment>one_number_for_all_layers</comment>
        <translation>một số, hoặc danh sách có số đó cho mọi lớp</translation>
    </message>
    <message>
        <source>one number, or a list of at least %1 numbers that has it for every layer with attention and 0 for every other</source>
        <comment>one_number_of_heads</comment>
        <translation>một số, hoặc danh sách có ít nhất %1 số, trong đó có số ấy cho mỗi lớp có attention và 0 cho mỗi lớp khác</translation>
    </message>
    <message>
        <source>%1: tensor %2 is not supported, and results without it would be wrong; expected a file of this model that has only the tensors of architecture %3: take another one</source>
        <comment>tensor_unread</comment>
        <translation>%1: tensor %2 không được hỗ trợ, và không có nó thì kết quả sẽ sai; cần một tệp của mô hình này chỉ có các tensor của kiến trúc %3: hãy dùng tệp khác</translation>
    </message>
    <message>
        <source>&quot;%1&quot; is %2, but the number of the file&apos;s layers that predict further tokens is %3. The %4 layers before them are used.</source>
        <comment>prediction_layers_miscounted</comment>
        <translation>&quot;%1&quot; là %2, nhưng số lớp dự đoán token tiếp theo trong tệp là %3. %4 lớp đứng trước chúng được dùng.</translation>
    </message>
    <message>
        <source>&quot;%1&quot; is missing, but the number of the file&apos;s layers that predict further tokens is %2. The %3 layers before them are used.</source>
        <comment>prediction_layers_uncounted</comment>
        <translation>Thiếu &quot;%1&quot;, nhưng số lớp dự đoán token tiếp theo trong tệp là %2. %3 lớp đứng trước chúng được dùng.</translation>
    </message>
    <message>
        <source>nothing listens there</source>
        <comment>call_nothing_listens</comment>
        <translation>không có gì lắng nghe ở đó</translation>
    </message>
    <message>
        <source>no address is known for that name</source>
        <comment>call_name_unknown</comment>
        <translation>không biết địa chỉ nào cho tên này</translation>
    </message>
    <message>
        <source>the network has no way there</source>
        <comment>call_no_way_there</comment>
        <translation>mạng không có đường tới đó</translation>
    </message>
    <message>
        <source>it does not prove that it is the paired machine, or does not know this computer</source>
        <comment>call_other_key</comment>
        <translation>nó không chứng minh được là máy đã ghép, hoặc không biết máy tính này</translation>
    </message>
    <message>
        <source>no answer</source>
        <comment>call_no_answer</comment>
        <translation>không có trả lời</translation>
    </message>
    <message>
        <source>another program answers there</source>
        <comment>call_other_program</comment>
        <translation>một chương trình khác trả lời ở đó</translation>
    </message>
    <message>
        <source>a message was larger than is allowed</source>
        <comment>call_message_too_large</comment>
        <translation>một thông điệp lớn hơn mức cho phép</translation>
    </message>
    <message>
        <source>no connection can be made</source>
        <comment>call_not_connected</comment>
        <translation>không thể kết nối</translation>
    </message>
    <message>
        <source>The room of the context costs speed: about %1 tokens/s instead of %2 with a context of %3 (forecast).</source>
        <comment>context_costs</comment>
        <translation>Chỗ của ngữ cảnh làm giảm tốc độ: khoảng %1 token/giây thay vì %2 với ngữ cảnh %3 (dự báo).</translation>
    </message>
    <message>
        <source>the part for NVIDIA GPUs, offstage-cuda, is not installed</source>
        <comment>cuda_part_not_installed</comment>
        <translation>phần dành cho GPU NVIDIA, offstage-cuda, chưa được cài đặt</translation>
    </message>
    <message>
        <source>the part for NVIDIA GPUs, offstage-cuda, does not load: %1</source>
        <comment>cuda_part_does_not_load</comment>
        <translation>không nạp được phần dành cho GPU NVIDIA, offstage-cuda: %1</translation>
    </message>
    <message>
        <source>the part for NVIDIA GPUs, offstage-cuda, is of another build (%1) than this program (%2)</source>
        <comment>cuda_part_of_other_build</comment>
        <translation>phần dành cho GPU NVIDIA, offstage-cuda, thuộc một bản dựng khác (%1) với chương trình này (%2)</translation>
    </message>
    <message>
        <source>Looking at %1</source>
        <comment>looking_at_model</comment>
        <translation>Đang xem %1</translation>
    </message>
    <message>
        <source>HF_ENDPOINT is &quot;%1&quot;; expected an address like https://huggingface.co.</source>
        <comment>no_hub_address</comment>
        <translation>HF_ENDPOINT là “%1”; cần một địa chỉ như https://huggingface.co.</translation>
    </message>
    <message>
        <source>%1 was not reached: %2</source>
        <comment>hub_not_reached</comment>
        <translation>Không kết nối được %1: %2</translation>
    </message>
    <message>
        <source>%1 has no certificate that this computer trusts (%2); check the address, the clock and the proxy.</source>
        <comment>hub_not_trusted</comment>
        <translation>%1 không có chứng chỉ mà máy tính này tin cậy (%2); hãy kiểm tra địa chỉ, đồng hồ và proxy.</translation>
    </message>
    <message>
        <source>%1 has no %2.</source>
        <comment>hub_has_no</comment>
        <translation>%1 không có %2.</translation>
    </message>
    <message>
        <source>%1 answered the request for %2 with status %3.</source>
        <comment>hub_answered</comment>
        <translation>%1 trả lời yêu cầu %2 với trạng thái %3.</translation>
    </message>
    <message>
        <source>%1 takes no requests for the next %2 seconds; try again then.</source>
        <comment>hub_asks_to_wait</comment>
        <translation>%1 không nhận yêu cầu trong %2 giây tới; hãy thử lại sau đó.</translation>
    </message>
    <message>
        <source>%1 sends requests for %2 from one address to the next without an end.</source>
        <comment>hub_redirects_in_circles</comment>
        <translation>%1 chuyển yêu cầu %2 từ địa chỉ này sang địa chỉ khác không dứt.</translation>
    </message>
    <message>
        <source>%1 sends requests for %2 to an address that is not secure: %3</source>
        <comment>hub_redirects_elsewhere</comment>
        <translation>%1 chuyển yêu cầu %2 đến một địa chỉ không an toàn: %3</translation>
    </message>
    <message>
        <source>%1 answered the request for %2 with more than was asked for.</source>
        <comment>hub_answer_too_long</comment>
        <translation>%1 trả lời yêu cầu %2 nhiều hơn mức được hỏi.</translation>
    </message>
    <message>
        <source>%1 describes %2 in a way that cannot be read: %3</source>
        <comment>hub_answer_unreadable</comment>
        <translation>%1 mô tả %2 theo cách không đọc được: %3</translation>
    </message>
    <message>
        <source>%1 sent another part of %2 than was asked for.</source>
        <comment>hub_sends_other_part</comment>
        <translation>%1 gửi một phần khác của %2 so với phần được hỏi.</translation>
    </message>
    <message>
        <source>%1 ended the connection again and again while it sent %2.</source>
        <comment>hub_cuts_off</comment>
        <translation>%1 ngắt kết nối hết lần này đến lần khác khi gửi %2.</translation>
    </message>
    <message>
        <source>%1 has a file named %2, which would lie outside of the model&apos;s folder.</source>
        <comment>hub_file_name_unsafe</comment>
        <translation>%1 có tệp tên %2, tệp này sẽ nằm ngoài thư mục của mô hình.</translation>
    </message>
    <message>
        <source>%1 has no GGUF file, and no config.json with *.safetensors.</source>
        <comment>no_model_in_repository</comment>
        <translation>%1 không có tệp GGUF, cũng không có config.json với *.safetensors.</translation>
    </message>
    <message>
        <source>%1 has several files; name one by its type behind a colon: %2.</source>
        <comment>several_files_in_repository</comment>
        <translation>%1 có nhiều tệp; hãy nêu một tệp bằng kiểu của nó sau dấu hai chấm: %2.</translation>
    </message>
    <message>
        <source>%1 has no file of type %2; expected one of %3.</source>
        <comment>no_such_file_in_repository</comment>
        <translation>%1 không có tệp kiểu %2; cần một trong %3.</translation>
    </message>
    <message>
        <source>%1 is not what %2 announced: its checksum is %3, expected %4. It was removed; try again.</source>
        <comment>file_is_another</comment>
        <translation>%1 không phải là tệp mà %2 đã báo: mã kiểm tra là %3, cần %4. Tệp đã bị xóa; hãy thử lại.</translation>
    </message>
    <message>
        <source>%1 needs %2 more than the disk of %3 has free.</source>
        <comment>no_room_for_model</comment>
        <translation>%1 cần thêm %2 so với chỗ trống trên đĩa của %3.</translation>
    </message>
    <message>
        <source>Another program is getting %1 already.</source>
        <comment>download_goes_on_elsewhere</comment>
        <translation>Một chương trình khác đang tải %1.</translation>
    </message>
    <message>
        <source>The download was stopped; it goes on from here the next time.</source>
        <comment>download_cancelled</comment>
        <translation>Việc tải đã dừng; lần sau sẽ tiếp tục từ đây.</translation>
    </message>
    <message>
        <source>What was kept on disk of this conversation is damaged (%1); it was removed, and the prompt is read whole.</source>
        <comment>kept_conversation_damaged</comment>
        <translation>Phần của cuộc trò chuyện này được giữ trên đĩa đã hỏng (%1); phần đó đã bị xóa, và prompt được đọc lại từ đầu.</translation>
    </message>
    <message>
        <source>What was read of a conversation is not kept on disk: %1 could not be written: %2</source>
        <comment>kept_conversation_not_written</comment>
        <translation>Phần đã đọc của một cuộc trò chuyện không được giữ trên đĩa: không ghi được %1: %2</translation>
    </message>
    <message>
        <source>The download cannot be written to %1: %2</source>
        <comment>cannot_write_model</comment>
        <translation>Không ghi được bản tải vào %1: %2</translation>
    </message>
    <message>
        <source>%1 gives %2 only to people who may have it, or has no such repository: check the name, accept its licence there, and set HF_TOKEN to a token of your account.</source>
        <comment>hub_refuses</comment>
        <translation>%1 chỉ đưa %2 cho những người được phép, hoặc không có kho như vậy: hãy kiểm tra tên, chấp nhận giấy phép ở đó và đặt HF_TOKEN là mã truy cập của tài khoản của bạn.</translation>
    </message>
    <message>
        <source>a dict of values that are no pairs</source>
        <comment>dict_of_no_pairs</comment>
        <translation>dict gồm những giá trị không phải là cặp</translation>
    </message>
    <message>
        <source>%1 is not a file of a model; expected an address of %2, or a type: %3.</source>
        <comment>file_is_no_model</comment>
        <translation>%1 không phải là tệp của một mô hình; cần địa chỉ của %2, hoặc một kiểu: %3.</translation>
    </message>
    <message>
        <source>&quot;%1&quot; is no repository of the hub; expected OWNER/NAME, OWNER/NAME:Q4_K_M, the address of a page or file at %2, or the name of a suggested model.</source>
        <comment>no_repository_name</comment>
        <translation>“%1” không phải là một kho của hub; cần CHỦ/TÊN, CHỦ/TÊN:Q4_K_M, địa chỉ của một trang hay tệp ở %2, hoặc tên của một mô hình được gợi ý.</translation>
    </message>
    <message>
        <source>The vocabulary has ids of more than one text (texts: %1; the first is of the id %2, %3, which is written %4).</source>
        <comment>vocab_ids_twice</comment>
        <translation>Bộ từ vựng có số ứng với nhiều văn bản (số văn bản: %1; đầu tiên thuộc số %2, %3, được viết là %4).</translation>
    </message>
    <message>
        <source>Added tokens have other ids than the file says, as in Hugging Face&apos;s tokenizers library (tokens: %1; the first is %2, of %3, now %4).</source>
        <comment>added_tokens_moved</comment>
        <translation>Các token thêm vào có số khác với số trong tệp, như trong thư viện tokenizers của Hugging Face (số token: %1; đầu tiên là %2, trong tệp là %3, nay là %4).</translation>
    </message>
    <message>
        <source>the argument &apos;%1&apos; twice</source>
        <comment>argument_twice</comment>
        <translation>đối số &apos;%1&apos; hai lần</translation>
    </message>
    <message>
        <source>the attribute &apos;%1&apos; of a value of type %2</source>
        <comment>attribute_as_value</comment>
        <translation>thuộc tính &apos;%1&apos; của giá trị kiểu %2</translation>
    </message>
    <message>
        <source>a key of type %1</source>
        <comment>key_of_type</comment>
        <translation>khóa kiểu %1</translation>
    </message>
    <message>
        <source>the last item of a generator</source>
        <comment>last_of_generator</comment>
        <translation>giá trị cuối của generator</translation>
    </message>
    <message>
        <source>a generator that gave a part of its items before</source>
        <comment>iterator_used_again</comment>
        <translation>một generator đã đưa ra một phần các giá trị của nó từ trước</translation>
    </message>
    <message>
        <source>a generator of a namespace&apos;s values, which were changed before it gave them</source>
        <comment>iterator_of_changed_namespace</comment>
        <translation>một generator của các giá trị trong namespace đã bị đổi trước khi nó đưa ra</translation>
    </message>
    <message>
        <source>a loop whose filter reads a namespace that the loop changes</source>
        <comment>loop_of_changed_namespace</comment>
        <translation>một vòng lặp có bộ lọc đọc namespace mà chính vòng lặp thay đổi</translation>
    </message>
    <message>
        <source>the test &apos;sameas&apos; of two values of type %1</source>
        <comment>sameas_of_type</comment>
        <translation>phép thử &apos;sameas&apos; của hai giá trị kiểu %1</translation>
    </message>
    <message>
        <source>dictsort by something else than &quot;key&quot; or &quot;value&quot;</source>
        <comment>dictsort_by</comment>
        <translation>dictsort theo thứ khác với “key” hoặc “value”</translation>
    </message>
    <message>
        <source>the name &apos;%1&apos;</source>
        <comment>the_name</comment>
        <translation>tên &apos;%1&apos;</translation>
    </message>
    <message>
        <source>%1: incomplete: %2 of %3 bytes; is it still being copied? Otherwise it is damaged: fetch it again</source>
        <comment>file_incomplete</comment>
        <translation>%1: chưa đầy đủ: %2 trong %3 byte; tệp còn đang được chép? Nếu không thì nó bị hỏng: hãy tải lại</translation>
    </message>
    <message>
        <source>%1: incomplete: %2 of at least %3 bytes, so that its header is cut; is it still being copied? Otherwise it is damaged: fetch it again</source>
        <comment>file_header_incomplete</comment>
        <translation>%1: chưa đầy đủ: %2 trong ít nhất %3 byte, nên phần đầu tệp bị cắt; tệp còn đang được chép? Nếu không thì nó bị hỏng: hãy tải lại</translation>
    </message>
    <message>
        <source>an item of a function</source>
        <comment>item_of_function</comment>
        <translation>phần tử của một hàm</translation>
    </message>
    <message>
        <source>%1: cannot be read: a part of it was missing for a moment, or its disk fails; try again.</source>
        <comment>changed_while_read</comment>
        <translation>%1: không đọc được: một phần của tệp bị thiếu trong giây lát, hoặc ổ đĩa bị lỗi; hãy thử lại.</translation>
    </message>
    <message>
        <source>a multiple of %1 (%2)</source>
        <comment>a_multiple_of_key</comment>
        <translation>một bội số của %1 (%2)</translation>
    </message>
    <message>
        <source>%1: %2 is not supported: it needs %3, which Offstage does not have</source>
        <comment>family_needs</comment>
        <translation>%1: %2 không được hỗ trợ: cần có %3, thứ mà Offstage không có</translation>
    </message>
    <message>
        <source>layers of Mamba-1</source>
        <comment>layers_of_mamba1</comment>
        <translation>các lớp Mamba-1</translation>
    </message>
    <message>
        <source>a delta rule with a decay for each channel</source>
        <comment>a_decay_of_each_channel</comment>
        <translation>quy tắc delta với hệ số suy giảm riêng cho từng kênh</translation>
    </message>
    <message>
        <source>lightning attention</source>
        <comment>lightning_attention</comment>
        <translation>Lightning Attention</translation>
    </message>
    <message>
        <source>an integer from %1 to %2, or a list with the same one for each layer</source>
        <comment>one_integer_for_all_layers</comment>
        <translation>một số nguyên từ %1 đến %2, hoặc một danh sách có cùng số đó cho mọi lớp</translation>
    </message>
    <message>
        <source>experts whose size and choice differ between layers</source>
        <comment>experts_of_several_sizes</comment>
        <translation>các chuyên gia có kích thước và cách chọn khác nhau giữa các lớp</translation>
    </message>
    <message>
        <source>1 to %1 letters M, *, E and -, or as many of &quot;linear_attention&quot;, &quot;full_attention&quot;, &quot;moe&quot; and &quot;mlp&quot; in a list</source>
        <comment>a_pattern_of_layers</comment>
        <translation>từ 1 đến %1 chữ cái M, *, E và -, hoặc bấy nhiêu từ &quot;linear_attention&quot;, &quot;full_attention&quot;, &quot;moe&quot; và &quot;mlp&quot; trong một danh sách</translation>
    </message>
    <message>
        <source>%1: tensor %2 with shape %3 does not fit what is beside it, %4 (%5) with shape %6; expected one scale for each block, row or group of its weights</source>
        <comment>quantized_misfit</comment>
        <translation>%1: tensor %2 có dạng %3 không khớp với phần đi kèm, %4 (%5) có dạng %6; cần một hệ số tỉ lệ cho mỗi khối, hàng hoặc nhóm trọng số của nó</translation>
    </message>
    <message>
        <source>%1: has %2: weights with zero points, or with their columns in another order, are not read; expected symmetric ones, or a GGUF file of the model</source>
        <comment>quantized_not_symmetric</comment>
        <translation>%1: có %2: trọng số có điểm không, hoặc có các cột theo thứ tự khác, không đọc được; cần trọng số đối xứng, hoặc tệp GGUF của mô hình</translation>
    </message>
    <message>
        <source>%1 cannot draft for %2: token %3 is %4 there and %5 here; choose a model with the same tokens.</source>
        <comment>draft_model_has_other_tokens</comment>
        <translation>%1 không thể dự thảo cho %2: token %3 ở đó là %4, còn ở đây là %5; hãy chọn một mô hình có cùng bộ token.</translation>
    </message>
    <message>
        <source>The layer that predicts further tokens is left out: %1</source>
        <comment>prediction_layer_left_out</comment>
        <translation>Lớp dự đoán token tiếp theo không được dùng: %1</translation>
    </message>
    <message>
        <source>Experts would have to be read from disk for it.</source>
        <comment>prediction_layer_needs_room</comment>
        <translation>Vì nó mà một số chuyên gia sẽ phải được đọc từ đĩa.</translation>
    </message>
    <message>
        <source>embeddings of n-grams, from tables that are read by rows</source>
        <comment>embeddings_of_n_grams</comment>
        <translation>embedding của n-gram, từ các bảng được đọc theo từng hàng</translation>
    </message>
    <message>
        <source>a rank: an indexer&apos;s queries are made from the queries of this rank</source>
        <comment>a_rank_of_queries</comment>
        <translation>một hạng: query của bộ chỉ mục được tạo từ query có hạng này</translation>
    </message>
    <message>
        <source>no less than &quot;qk_rope_head_dim&quot; (%1)</source>
        <comment>no_less_than_the_rotary_part</comment>
        <translation>không nhỏ hơn &quot;qk_rope_head_dim&quot; (%1)</translation>
    </message>
    <message>
        <source>a letter F or S for each of %1 layers</source>
        <comment>a_letter_for_each_layer</comment>
        <translation>một chữ F hoặc S cho mỗi lớp trong %1 lớp</translation>
    </message>
    <message>
        <source>as many as &quot;num_key_value_heads&quot;</source>
        <comment>as_many_as_kv_heads</comment>
        <translation>bằng &quot;num_key_value_heads&quot;</translation>
    </message>
    <message>
        <source>an indexer of its own in the first layer</source>
        <comment>an_indexer_in_the_first_layer</comment>
        <translation>bộ chỉ mục riêng ở lớp đầu tiên</translation>
    </message>
    <message>
        <source>one value of all layers with a window, and one of all others</source>
        <comment>a_value_for_each_kind_of_layer</comment>
        <translation>một giá trị cho mọi lớp có cửa sổ, và một giá trị cho mọi lớp còn lại</translation>
    </message>
    <message>
        <source>%1: %2 is the shares of several machines, without the scales that say of how many; expected the model in FP8, as it was published, or a GGUF file</source>
        <comment>shares_unknown</comment>
        <translation>%1: %2 gồm các phần của nhiều máy, nhưng thiếu các hệ số tỷ lệ cho biết số máy; cần mô hình ở dạng FP8 như bản được công bố, hoặc một tệp GGUF</translation>
    </message>
    <message>
        <source>%1: tensor %2 has the number %3; expected 0 to below %4</source>
        <comment>integer_out_of_range</comment>
        <translation>%1: tensor %2 có số %3; cần từ 0 đến dưới %4</translation>
    </message>
</context>
<context>
    <name>EventLog</name>
    <message>
        <source>Re-plan %1 is in force: %2 of %3 copies, %4 moved in %5; %6 experts on the device, %7 bits</source>
        <translation>Lần đổi phương án %1 đã có hiệu lực: %2/%3 bản sao, đã chuyển %4 trong %5; %6 chuyên gia trên thiết bị, %7 bit</translation>
    </message>
    <message>
        <source>Re-plan %1 was cancelled</source>
        <translation>Lần đổi phương án %1 đã bị hủy</translation>
    </message>
    <message>
        <source>Re-plan %1 gave way to a later one</source>
        <translation>Lần đổi phương án %1 đã nhường chỗ cho lần sau đó</translation>
    </message>
    <message>
        <source>Re-plan %1 could not be carried out</source>
        <translation>Không thực hiện được lần đổi phương án %1</translation>
    </message>
    <message>
        <source>model</source>
        <translation>mô hình</translation>
    </message>
    <message>
        <source>re-plan</source>
        <translation>đổi phương án</translation>
    </message>
    <message>
        <source>decision</source>
        <translation>quyết định</translation>
    </message>
    <message>
        <source>note</source>
        <translation>ghi chú</translation>
    </message>
    <message>
        <source>problem</source>
        <translation>sự cố</translation>
    </message>
    <message>
        <source>connection</source>
        <translation>kết nối</translation>
    </message>
</context>
<context>
    <name>FileDialogs</name>
    <message>
        <source>Look for models in a folder</source>
        <translation>Tìm mô hình trong một thư mục</translation>
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
        <translation>%1 tỷ</translation>
    </message>
    <message>
        <source>%1 M</source>
        <translation>%1 triệu</translation>
    </message>
    <message>
        <source>CPU · 1 thread</source>
        <translation>CPU · 1 luồng</translation>
    </message>
    <message>
        <source>CPU · %1 threads</source>
        <translation>CPU · %1 luồng</translation>
    </message>
    <message>
        <source>%1 layers × %2 experts, %3 active</source>
        <translation>%1 lớp × %2 chuyên gia, %3 hoạt động</translation>
    </message>
    <message>
        <source>first token %1</source>
        <translation>token đầu tiên %1</translation>
    </message>
    <message>
        <source>%1 in</source>
        <translation>%1 token vào</translation>
    </message>
    <message>
        <source> (%1 reused)</source>
        <translation> (dùng lại %1)</translation>
    </message>
    <message>
        <source>, %1 out</source>
        <translation>, %1 ra</translation>
    </message>
    <message>
        <source>%1 bit (%2)</source>
        <translation>%1 bit (%2)</translation>
    </message>
    <message>
        <source>%1 (emulated) · %2 VRAM</source>
        <translation>%1 (giả lập) · VRAM %2</translation>
    </message>
    <message>
        <source>%1 · %2 VRAM</source>
        <translation>%1 · VRAM %2</translation>
    </message>
    <message>
        <source>%1 tokens/s (simulated)</source>
        <translation>%1 token/s (mô phỏng)</translation>
    </message>
    <message>
        <source>%1 tokens/s (forecast)</source>
        <translation>%1 token/s (dự báo)</translation>
    </message>
    <message>
        <source>%1 tokens/s (measured)</source>
        <translation>%1 token/s (đo được)</translation>
    </message>
    <message>
        <source>1 token</source>
        <translation>1 token</translation>
    </message>
    <message>
        <source>%1 tokens</source>
        <translation>%1 token</translation>
    </message>
    <message>
        <source>Thinking… %1, %2</source>
        <translation>Đang suy nghĩ… %1, %2</translation>
    </message>
    <message>
        <source>Thought</source>
        <translation>Suy nghĩ</translation>
    </message>
    <message>
        <source>Thought for %1, %2</source>
        <translation>Đã suy nghĩ %1, %2</translation>
    </message>
    <message>
        <source>Thought, %1</source>
        <translation>Suy nghĩ, %1</translation>
    </message>
    <message>
        <source>neurons up to %1 skipped</source>
        <translation>bỏ qua các nơ-ron đến %1</translation>
    </message>
    <message>
        <source>neurons skipped by expert, for a loss of %1</source>
        <translation>bỏ qua nơ-ron theo từng chuyên gia, với tổn thất %1</translation>
    </message>
    <message>
        <source>Reading the prompt: %1 of %2 tokens</source>
        <translation>Đang đọc lời nhắc: %1 trong %2 token</translation>
    </message>
    <message>
        <source>%1, guesses accepted</source>
        <comment>skipped neurons</comment>
        <translation>%1, chấp nhận phỏng đoán</translation>
    </message>
    <message>
        <source>Least recently used (LRU)</source>
        <translation>Lâu không dùng nhất (LRU)</translation>
    </message>
    <message>
        <source>Least often used (LFU)</source>
        <translation>Ít dùng nhất (LFU)</translation>
    </message>
    <message>
        <source>Least recently used, often used protected (SLRU)</source>
        <translation>Lâu không dùng nhất, giữ chuyên gia hay dùng (SLRU)</translation>
    </message>
    <message>
        <source>Most popular, fixed</source>
        <translation>Phổ biến nhất, cố định</translation>
    </message>
    <message>
        <source>Least recently used in each layer (LRU)</source>
        <translation>Lâu không dùng nhất trong từng lớp (LRU)</translation>
    </message>
    <message>
        <source>1 byte</source>
        <translation>1 byte</translation>
    </message>
    <message>
        <source>%1 tokens a step</source>
        <translation>%1 token mỗi bước</translation>
    </message>
    <message>
        <source>Drafts: %1 of %2 tokens were right, %3 tokens a step; steps called %4 more experts.</source>
        <comment>number, number, number, share</comment>
        <translation>Bản nháp: %1 trên %2 token đúng, %3 token mỗi bước; các bước gọi thêm %4 chuyên gia.</translation>
    </message>
</context>
<context>
    <name>HelpAnswers</name>
    <message>
        <source>Which models can this program open?</source>
        <translation>Chương trình này mở được những mô hình nào?</translation>
    </message>
    <message>
        <source>Does this program send my data anywhere?</source>
        <translation>Chương trình này có gửi dữ liệu của tôi đi đâu không?</translation>
    </message>
    <message>
        <source>Families: %1.</source>
        <translation>Các họ mô hình: %1.</translation>
    </message>
    <message>
        <source>The demo model does not know this program well enough to answer. %1 says where everything is, and the search in the help (F1) looks through all of its pages.</source>
        <translation>Mô hình demo không biết đủ rõ về chương trình này để trả lời. %1 cho biết mọi thứ nằm ở đâu, và ô tìm kiếm trong phần trợ giúp (F1) tìm trong mọi trang; các trang bằng tiếng Anh.</translation>
    </message>
    <message>
        <source>More in the help: %1</source>
        <translation>Xem thêm trong phần trợ giúp: %1</translation>
    </message>
    <message>
        <source>The help is in English, with the English names of menus and buttons. It says:</source>
        <translation>Phần trợ giúp chỉ có bằng tiếng Anh, với tên tiếng Anh của trình đơn và nút. Trong đó viết:</translation>
    </message>
</context>
<context>
    <name>History</name>
    <message>
        <source>One message is damaged</source>
        <translation>Một tin nhắn bị hỏng</translation>
    </message>
    <message>
        <source>It could not be read from the chat history and is not shown.</source>
        <translation>Không đọc được tin nhắn này từ lịch sử trò chuyện nên không hiển thị.</translation>
    </message>
    <message>
        <source>The chat history needs Qt&apos;s SQLite driver, which is not installed.</source>
        <translation>Lịch sử trò chuyện cần trình điều khiển SQLite của Qt, hiện chưa được cài đặt.</translation>
    </message>
    <message>
        <source>This conversation is no longer there.</source>
        <translation>Cuộc trò chuyện này không còn nữa.</translation>
    </message>
    <message>
        <source>The chat history %1 is damaged (%2).</source>
        <translation>Lịch sử trò chuyện %1 bị hỏng (%2).</translation>
    </message>
    <message>
        <source>The chat history %1 is in use by another program (%2).</source>
        <translation>Lịch sử trò chuyện %1 đang được chương trình khác sử dụng (%2).</translation>
    </message>
    <message>
        <source>There is no space left for the chat history %1 (%2).</source>
        <translation>Không còn chỗ trống cho lịch sử trò chuyện %1 (%2).</translation>
    </message>
    <message>
        <source>The chat history %1 was removed or replaced while it was open.</source>
        <translation>Lịch sử trò chuyện %1 đã bị xóa hoặc thay thế trong khi đang mở.</translation>
    </message>
    <message>
        <source>The chat history %1 cannot be read or written (%2).</source>
        <translation>Không đọc hoặc ghi được lịch sử trò chuyện %1 (%2).</translation>
    </message>
    <message>
        <source>The chat history %1 did not take a change (%2).</source>
        <translation>Lịch sử trò chuyện %1 không nhận thay đổi (%2).</translation>
    </message>
    <message>
        <source>%1 is a database of another program, not a chat history.</source>
        <translation>%1 là cơ sở dữ liệu của chương trình khác, không phải lịch sử trò chuyện.</translation>
    </message>
    <message>
        <source>The chat history %1 was written by a newer version of Offstage (format %2; this one reads formats up to %3).</source>
        <translation>Lịch sử trò chuyện %1 do phiên bản Offstage mới hơn ghi (định dạng %2; bản này đọc đến định dạng %3).</translation>
    </message>
    <message>
        <source>There is not enough memory for the chat history %1 (%2).</source>
        <translation>Không đủ bộ nhớ cho lịch sử trò chuyện %1 (%2).</translation>
    </message>
    <message>
        <source>%1 is in the way of the chat history: it is not a regular file.</source>
        <translation>%1 cản lịch sử trò chuyện: đó không phải là tệp thông thường.</translation>
    </message>
    <message>
        <source>Offstage was closed before this was answered</source>
        <translation>Offstage bị đóng trước khi nội dung này được trả lời</translation>
    </message>
    <message>
        <source>Offstage was closed while this was being written</source>
        <translation>Offstage bị đóng khi đang viết nội dung này</translation>
    </message>
    <message>
        <source>The chat history was damaged</source>
        <translation>Lịch sử trò chuyện đã bị hỏng</translation>
    </message>
    <message numerus="yes">
        <source>A new one was begun with what could be read: %n message(s)</source>
        <translation>
            <numerusform>Một lịch sử mới đã được tạo từ những gì còn đọc được: %n tin nhắn</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source> in %n conversation(s).</source>
        <translation>
            <numerusform> trong %n cuộc trò chuyện.</numerusform>
        </translation>
    </message>
    <message>
        <source>The damaged file is kept as %1</source>
        <translation>Tệp bị hỏng được giữ lại ở %1</translation>
    </message>
    <message>
        <source>The folder %1 cannot be made.</source>
        <translation>Không tạo được thư mục %1.</translation>
    </message>
    <message>
        <source>The chat history is damaged.</source>
        <translation>Lịch sử trò chuyện bị hỏng.</translation>
    </message>
    <message>
        <source>Another Offstage still uses the file, so it was left as it is. Close all others, and try again: then what can be read is taken over.</source>
        <translation>Một cửa sổ Offstage khác vẫn đang dùng tệp này nên nó được giữ nguyên. Hãy đóng các cửa sổ kia rồi thử lại: khi đó những gì đọc được sẽ được lấy lại.</translation>
    </message>
    <message>
        <source>Stopped</source>
        <translation>Đã dừng</translation>
    </message>
    <message>
        <source>Not answered</source>
        <translation>Chưa được trả lời</translation>
    </message>
    <message>
        <source>Not complete</source>
        <translation>Chưa trọn vẹn</translation>
    </message>
    <message>
        <source>The model ended its turn within the thought, without an answer</source>
        <translation>Mô hình kết thúc lượt khi còn đang suy nghĩ, không có câu trả lời</translation>
    </message>
    <message>
        <source>The context is full</source>
        <translation>Ngữ cảnh đã đầy</translation>
    </message>
    <message>
        <source>Ended at the limit of %1 tokens (Instructions and sampling)</source>
        <translation>Đã dừng ở giới hạn %1 token (Chỉ dẫn và lấy mẫu)</translation>
    </message>
</context>
<context>
    <name>MemoryRow</name>
    <message>
        <source>dense weights</source>
        <translation>trọng số dày đặc</translation>
    </message>
    <message>
        <source>experts, %1</source>
        <translation>chuyên gia, %1</translation>
    </message>
    <message>
        <source>room for experts</source>
        <translation>chỗ cho chuyên gia</translation>
    </message>
    <message>
        <source>KV cache</source>
        <translation>bộ nhớ đệm KV</translation>
    </message>
    <message>
        <source>other programs</source>
        <translation>chương trình khác</translation>
    </message>
    <message>
        <source>%1, budget</source>
        <translation>%1, hạn mức</translation>
    </message>
    <message>
        <source>buffers</source>
        <translation>bộ đệm</translation>
    </message>
</context>
<context>
    <name>Message</name>
    <message>
        <source>You</source>
        <translation>Bạn</translation>
    </message>
    <message>
        <source>From the help</source>
        <translation>Từ phần trợ giúp</translation>
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
        <translation>%1 được bảo vệ bằng mật khẩu. Hãy lưu bản không có mật khẩu rồi đính kèm bản đó.</translation>
    </message>
    <message>
        <source>%1 is encrypted in a way that cannot be read. Save it without protection and attach that.</source>
        <translation>%1 được mã hóa theo cách không đọc được. Hãy lưu bản không bảo vệ rồi đính kèm bản đó.</translation>
    </message>
    <message>
        <source>%1 is not there.</source>
        <translation>%1 không có ở đó.</translation>
    </message>
    <message>
        <source>%1 is not a whole PDF file. Open it in a PDF viewer and save it anew, or copy its text.</source>
        <translation>%1 không phải là tệp PDF nguyên vẹn. Hãy mở bằng trình xem PDF rồi lưu lại, hoặc sao chép văn bản của nó.</translation>
    </message>
    <message>
        <source>%1 is too large to attach: it has %2, and PDF files of up to %3 are read. Attach the pages that matter.</source>
        <translation>%1 quá lớn để đính kèm: tệp có %2, chỉ đọc tệp PDF tối đa %3. Hãy đính kèm các trang quan trọng.</translation>
    </message>
    <message>
        <source>%1 was not attached: its reading was cancelled.</source>
        <translation>Chưa đính kèm %1: việc đọc tệp đã bị hủy.</translation>
    </message>
    <message>
        <source>%1 is too long to attach: by page %2 of %3 it has more than %4 characters. Attach the pages that matter.</source>
        <translation>%1 quá dài để đính kèm: đến trang %2 trên %3 đã có hơn %4 ký tự. Hãy đính kèm các trang quan trọng.</translation>
    </message>
    <message>
        <source>%1 has no text: its pages are pictures. Let a program recognize their text (OCR) and attach that.</source>
        <translation>%1 không có văn bản: các trang là hình ảnh. Hãy dùng chương trình nhận dạng chữ (OCR) rồi đính kèm kết quả.</translation>
    </message>
    <message>
        <source>%1: this Offstage was built without Qt PDF and cannot read PDF files; copy its text.</source>
        <translation>%1: bản Offstage này được dựng không có Qt PDF và không đọc được tệp PDF; hãy sao chép văn bản của nó.</translation>
    </message>
</context>
<context>
    <name>QPlatformTheme</name>
    <message>
        <source>Cancel</source>
        <translation>Hủy</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>Đóng</translation>
    </message>
    <message>
        <source>OK</source>
        <translation>OK</translation>
    </message>
    <message>
        <source>Save</source>
        <translation>Lưu</translation>
    </message>
</context>
<context>
    <name>QualityLevel</name>
    <message>
        <source>very small</source>
        <comment>change of quality</comment>
        <translation>rất nhỏ</translation>
    </message>
    <message>
        <source>small</source>
        <comment>change of quality</comment>
        <translation>nhỏ</translation>
    </message>
    <message>
        <source>noticeable</source>
        <comment>change of quality</comment>
        <translation>nhận thấy được</translation>
    </message>
    <message>
        <source>large</source>
        <comment>change of quality</comment>
        <translation>lớn</translation>
    </message>
    <message>
        <source>Original</source>
        <translation>Nguyên bản</translation>
    </message>
    <message>
        <source>Experts stay as they are in the model&apos;s files</source>
        <translation>Các chuyên gia giữ nguyên như trong tệp của mô hình</translation>
    </message>
    <message>
        <source>Nearly lossless</source>
        <translation>Gần như không mất mát</translation>
    </message>
    <message>
        <source>Experts in at least 8 bits a weight on average</source>
        <translation>Chuyên gia có trung bình ít nhất 8 bit mỗi trọng số</translation>
    </message>
    <message>
        <source>Balanced</source>
        <translation>Cân bằng</translation>
    </message>
    <message>
        <source>Experts in at least 4.25 bits a weight on average: about a quarter of 16 bits</source>
        <translation>Chuyên gia có trung bình ít nhất 4,25 bit mỗi trọng số: khoảng một phần tư của 16 bit</translation>
    </message>
    <message>
        <source>Small</source>
        <translation>Nhỏ</translation>
    </message>
    <message>
        <source>Experts in at least 3.25 bits a weight on average: about a fifth of 16 bits</source>
        <translation>Chuyên gia có trung bình ít nhất 3,25 bit mỗi trọng số: khoảng một phần năm của 16 bit</translation>
    </message>
    <message>
        <source>%1 (KL %2)</source>
        <comment>a word, a number</comment>
        <translation>%1 (KL %2)</translation>
    </message>
    <message>
        <source>not measured</source>
        <translation>chưa đo</translation>
    </message>
    <message>
        <source>none</source>
        <comment>change of quality</comment>
        <translation>không có</translation>
    </message>
    <message>
        <source>%1 (predicted, %2 % error)</source>
        <comment>a word, a number</comment>
        <translation>%1 (dự đoán, sai số %2 %)</translation>
    </message>
    <message>
        <source>%1; skipped neurons: %2</source>
        <translation>%1; nơ-ron bị bỏ qua: %2</translation>
    </message>
</context>
<context>
    <name>Sampling</name>
    <message>
        <source>Precise</source>
        <translation>Chính xác</translation>
    </message>
    <message>
        <source>Always the most probable word: the same answer every time</source>
        <translation>Luôn chọn từ có xác suất cao nhất: lần nào cũng cùng một câu trả lời</translation>
    </message>
    <message>
        <source>Balanced</source>
        <translation>Cân bằng</translation>
    </message>
    <message>
        <source>A little variety, few surprises</source>
        <translation>Đa dạng một chút, ít bất ngờ</translation>
    </message>
    <message>
        <source>Creative</source>
        <translation>Sáng tạo</translation>
    </message>
    <message>
        <source>More variety; very improbable words stay out</source>
        <translation>Đa dạng hơn; các từ có xác suất rất thấp bị bỏ qua</translation>
    </message>
    <message>
        <source>As the model does</source>
        <translation>Theo mô hình</translation>
    </message>
    <message>
        <source>Off</source>
        <translation>Tắt</translation>
    </message>
    <message>
        <source>On</source>
        <translation>Bật</translation>
    </message>
    <message>
        <source>Low</source>
        <translation>Thấp</translation>
    </message>
    <message>
        <source>Medium</source>
        <translation>Vừa</translation>
    </message>
    <message>
        <source>High</source>
        <translation>Cao</translation>
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
        <translation>Truyện</translation>
    </message>
    <message>
        <source>Arithmetic</source>
        <translation>Số học</translation>
    </message>
    <message>
        <source>Units</source>
        <translation>Đơn vị</translation>
    </message>
    <message>
        <source>Code</source>
        <translation>Mã</translation>
    </message>
    <message>
        <source>Words</source>
        <translation>Từ ngữ</translation>
    </message>
    <message>
        <source>Facts</source>
        <translation>Kiến thức</translation>
    </message>
    <message>
        <source>Talk</source>
        <translation>Trò chuyện</translation>
    </message>
</context>
<context>
    <name>TokenChoices</name>
    <message>
        <source>(nothing)</source>
        <translation>(trống)</translation>
    </message>
    <message>
        <source>&lt; %1 %</source>
        <translation>&lt; %1 %</translation>
    </message>
    <message>
        <source>%1 %</source>
        <translation>%1 %</translation>
    </message>
</context>
<context>
    <name>main</name>
    <message>
        <source>Cannot write the picture %1.
</source>
        <translation>Không ghi được hình %1.
</translation>
    </message>
    <message>
        <source>Chat with Mixture-of-Experts models that do not fit into the GPU&apos;s memory.</source>
        <translation>Trò chuyện với các mô hình Mixture-of-Experts không vừa bộ nhớ của GPU.</translation>
    </message>
    <message>
        <source>Send this as soon as the model is ready.</source>
        <translation>Gửi nội dung này ngay khi mô hình sẵn sàng.</translation>
    </message>
    <message>
        <source>Colours: system, light or dark.</source>
        <translation>Màu sắc: system (theo hệ thống), light (sáng) hoặc dark (tối).</translation>
    </message>
    <message>
        <source>Wait for the answer, save a picture of the window to FILE, and quit.</source>
        <translation>Chờ câu trả lời, lưu hình cửa sổ vào FILE rồi thoát.</translation>
    </message>
    <message>
        <source>Size of the window, for example 1280x800.</source>
        <translation>Kích thước cửa sổ, ví dụ 1280x800.</translation>
    </message>
    <message>
        <source>Where the model runs: cpu, cuda, cuda:N or emulated:PROFILE, for example emulated:rtx-3060.</source>
        <translation>Nơi chạy mô hình: cpu, cuda, cuda:N hoặc emulated:PROFILE, ví dụ emulated:rtx-3060.</translation>
    </message>
    <message>
        <source>Budget of GPU memory, for example 8GiB.</source>
        <translation>Hạn mức bộ nhớ GPU, ví dụ 8GiB.</translation>
    </message>
    <message>
        <source>Language of the window: en, de or vi.</source>
        <translation>Ngôn ngữ của cửa sổ: en, de hoặc vi.</translation>
    </message>
    <message>
        <source>Do not use the window that is open: open another one.</source>
        <translation>Không dùng cửa sổ đang mở: mở một cửa sổ khác.</translation>
    </message>
    <message>
        <source>Another window of Offstage is open</source>
        <translation>Một cửa sổ Offstage khác đang mở</translation>
    </message>
    <message>
        <source>Both have the same conversations. What is written in one of them is shown in the other after its next start.</source>
        <translation>Cả hai có cùng các cuộc trò chuyện. Những gì viết ở cửa sổ này sẽ hiện ở cửa sổ kia sau lần khởi động tới của nó.</translation>
    </message>
    <message>
        <source>Begin with a new conversation, not with the last one.</source>
        <translation>Bắt đầu bằng cuộc trò chuyện mới, không phải cuộc gần nhất.</translation>
    </message>
    <message>
        <source>Folder or file of a model; without it, the last one, or the demo model.</source>
        <translation>Thư mục hoặc tệp của mô hình; nếu không có thì là mô hình mở lần trước, hoặc mô hình demo.</translation>
    </message>
    <message>
        <source>There is no display for a window. “offstage-cli chat” talks in the terminal.
</source>
        <translation>Không có màn hình cho cửa sổ. “offstage-cli chat” trò chuyện trong terminal.
</translation>
    </message>
    <message>
        <source>--%1 %2: expected is %3.</source>
        <translation>--%1 %2: cần có %3.</translation>
    </message>
    <message>
        <source>WIDTHxHEIGHT, for example 1280x800</source>
        <translation>RỘNGxCAO, ví dụ 1280x800</translation>
    </message>
    <message>
        <source>system, light or dark</source>
        <translation>system, light hoặc dark</translation>
    </message>
    <message>
        <source>en, de or vi</source>
        <translation>en, de hoặc vi</translation>
    </message>
</context>
<context>
    <name>offstage::ui::AnswerTokens</name>
    <message>
        <source>&amp;Underline unlikely words</source>
        <translation>Gạch d&amp;ưới từ ít khả năng</translation>
    </message>
    <message>
        <source>The timeline of this answer is no longer kept: it was written before Offstage was started, or long ago.</source>
        <translation>Dòng thời gian của câu trả lời này không còn được giữ: nó được viết trước khi Offstage khởi động, hoặc đã lâu.</translation>
    </message>
    <message>
        <source>The beginning of this answer was written before its probabilities were kept; it cannot be gone on from here.</source>
        <translation>Phần đầu của câu trả lời này được viết trước khi xác suất được giữ lại; không thể tiếp tục từ đây.</translation>
    </message>
    <message>
        <source>An answer is on its way. Choose again after that.</source>
        <translation>Một câu trả lời đang tới. Hãy chọn lại sau đó.</translation>
    </message>
    <message>
        <source>Token pro&amp;babilities (from the next answer on)</source>
        <translation>&amp;Xác suất token (từ câu trả lời tiếp theo)</translation>
    </message>
    <message>
        <source>At a word of an answer: how probable its tokens were, what else could stand there, and, by a click, a branch from there. From the next answer on</source>
        <translation>Tại một từ của câu trả lời: các token của nó có xác suất bao nhiêu, còn gì khác có thể đứng ở đó, và với một cú nhấp, một nhánh từ đó. Từ câu trả lời tiếp theo</translation>
    </message>
    <message>
        <source>Lines under what the model itself did not expect: dotted below 50 %, dashed below 20 %, solid below 5 %, thick below 1 %. From the next answer on</source>
        <translation>Đường dưới những gì chính mô hình không ngờ: chấm dưới 50 %, gạch dưới 20 %, liền dưới 5 %, đậm dưới 1 %. Từ câu trả lời tiếp theo</translation>
    </message>
</context>
<context>
    <name>offstage::ui::AnswerWriter</name>
    <message>
        <source>Summary of the conversation so far:</source>
        <translation>Tóm tắt cuộc trò chuyện cho đến nay:</translation>
    </message>
    <message>
        <source>Number %1 in the queue</source>
        <translation>Thứ %1 trong hàng đợi</translation>
    </message>
    <message>
        <source>Waiting for the model to load…</source>
        <translation>Đang chờ nạp mô hình…</translation>
    </message>
    <message>
        <source>Waiting for the benchmark to end…</source>
        <translation>Đang đợi phép đo hiệu năng kết thúc…</translation>
    </message>
    <message>
        <source>Reading the prompt…</source>
        <translation>Đang đọc lời nhắc…</translation>
    </message>
    <message>
        <source>This prompt cannot be answered</source>
        <translation>Không thể trả lời lời nhắc này</translation>
    </message>
    <message>
        <source>The answer could not be written</source>
        <translation>Không viết được câu trả lời</translation>
    </message>
    <message>
        <source>The answer ended early</source>
        <translation>Câu trả lời kết thúc sớm</translation>
    </message>
    <message>
        <source>Summarising the oldest turns…</source>
        <translation>Đang tóm tắt các lượt cũ nhất…</translation>
    </message>
    <message>
        <source>Summarise this conversation in a few sentences, so that it can go on from them: names, facts, decisions and open questions.</source>
        <translation>Hãy tóm tắt cuộc trò chuyện này trong vài câu để có thể tiếp tục từ đó: tên, sự việc, quyết định và câu hỏi còn mở.</translation>
    </message>
    <message>
        <source>The context is full</source>
        <translation>Ngữ cảnh đã đầy</translation>
    </message>
    <message>
        <source>The answer ended because the conversation fills the model&apos;s context: %1 tokens.</source>
        <translation>Câu trả lời dừng lại vì cuộc trò chuyện đã lấp đầy ngữ cảnh của mô hình: %1 token.</translation>
    </message>
    <message>
        <source>This prompt is too long</source>
        <translation>Lời nhắc này quá dài</translation>
    </message>
    <message>
        <source>The prompt alone fills the context of %1 tokens, and the answer needs room too.</source>
        <translation>Riêng lời nhắc đã chiếm hết ngữ cảnh %1 token, mà câu trả lời cũng cần chỗ.</translation>
    </message>
    <message>
        <source>What helps is a shorter one.</source>
        <translation>Lời nhắc ngắn hơn sẽ vừa.</translation>
    </message>
    <message>
        <source>What helps is a shorter one, or fewer or smaller files.</source>
        <translation>Lời nhắc ngắn hơn, hoặc ít tệp hơn hay tệp nhỏ hơn sẽ vừa.</translation>
    </message>
    <message>
        <source>The instructions count, too.</source>
        <translation>Phần chỉ dẫn cũng được tính.</translation>
    </message>
    <message>
        <source>The conversation has %1 tokens with this prompt, and the context holds %2: the answer needs room too.</source>
        <translation>Cuộc trò chuyện cùng lời nhắc này có %1 token, còn ngữ cảnh chứa %2: câu trả lời cũng cần chỗ.</translation>
    </message>
    <message>
        <source>The model has no chat template, so messages cannot be written for it. Choose that of its family, or a file.</source>
        <translation>Mô hình không có mẫu trò chuyện nên không viết được tin nhắn cho nó. Hãy chọn mẫu của họ mô hình, hoặc một tệp.</translation>
    </message>
</context>
<context>
    <name>offstage::ui::AppearancePage</name>
    <message>
        <source>As the system</source>
        <translation>Theo hệ thống</translation>
    </message>
    <message>
        <source>Light</source>
        <translation>Sáng</translation>
    </message>
    <message>
        <source>Dark</source>
        <translation>Tối</translation>
    </message>
    <message>
        <source>T&amp;heme</source>
        <translation>&amp;Giao diện</translation>
    </message>
    <message>
        <source>Te&amp;xt size</source>
        <translation>&amp;Cỡ chữ</translation>
    </message>
    <message>
        <source>&amp;Language</source>
        <translation>&amp;Ngôn ngữ</translation>
    </message>
    <message>
        <source>The language changes when Offstage starts again.</source>
        <translation>Ngôn ngữ thay đổi khi Offstage khởi động lại.</translation>
    </message>
    <message>
        <source>100 % is the system&apos;s text size.</source>
        <translation>100 % là cỡ chữ của hệ thống.</translation>
    </message>
</context>
<context>
    <name>offstage::ui::AttachmentChip</name>
    <message>
        <source>Attached file %1, %2</source>
        <translation>Tệp đính kèm %1, %2</translation>
    </message>
    <message>
        <source>Delete removes it from the message</source>
        <translation>Phím Delete bỏ tệp khỏi tin nhắn</translation>
    </message>
    <message>
        <source>%1
%2
Delete, or a click on the cross, removes it from the message</source>
        <translation>%1
%2
Nhấn Delete hoặc bấm dấu nhân để bỏ tệp khỏi tin nhắn</translation>
    </message>
    <message>
        <source>File %1, %2</source>
        <translation>Tệp %1, %2</translation>
    </message>
    <message>
        <source>Shows its text</source>
        <translation>Hiện văn bản của tệp</translation>
    </message>
    <message>
        <source>%1
%2
Click to see its text</source>
        <translation>%1
%2
Bấm để xem văn bản của tệp</translation>
    </message>
</context>
<context>
    <name>offstage::ui::BarPlot</name>
    <message>
        <source>from %1</source>
        <translation>từ %1</translation>
    </message>
    <message>
        <source>%1 to %2</source>
        <translation>%1 đến %2</translation>
    </message>
    <message>
        <source>%1
%2, %3 of all</source>
        <comment>bin; count, share</comment>
        <translation>%1
%2, %3 của tất cả</translation>
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
        <translation>Hủy</translation>
    </message>
    <message>
        <source>Export…</source>
        <translation>Xuất…</translation>
    </message>
    <message>
        <source>Pictures…</source>
        <translation>Hình…</translation>
    </message>
    <message>
        <source>Open a model to measure its answers, to run scenarios and to compare plans.</source>
        <translation>Mở một mô hình để đo các câu trả lời, chạy kịch bản và so sánh phương án.</translation>
    </message>
    <message>
        <source>Answers</source>
        <translation>Câu trả lời</translation>
    </message>
    <message>
        <source>Scenario</source>
        <translation>Kịch bản</translation>
    </message>
    <message>
        <source>Two plans</source>
        <translation>Hai phương án</translation>
    </message>
    <message>
        <source>Progress of the benchmark</source>
        <translation>Tiến độ đo hiệu năng</translation>
    </message>
    <message>
        <source>Stop the run; a plan that was changed for it is put back</source>
        <translation>Dừng lượt chạy; nếu phương án đã được đổi cho lượt này thì phương án cũ được khôi phục</translation>
    </message>
    <message>
        <source>Save all results with hardware, model, plan, budgets and seed, as CSV, JSON or Markdown</source>
        <translation>Lưu mọi kết quả kèm phần cứng, mô hình, phương án, hạn mức và seed, dưới dạng CSV, JSON hoặc Markdown</translation>
    </message>
    <message>
        <source>Answers of this session</source>
        <translation>Câu trả lời của phiên này</translation>
    </message>
    <message>
        <source>Time from one token to the next</source>
        <translation>Thời gian từ token này đến token kế tiếp</translation>
    </message>
    <message>
        <source>How many of the engine&apos;s decode steps took how long</source>
        <translation>Bao nhiêu bước giải mã của bộ máy mất bao lâu</translation>
    </message>
    <message>
        <source>Ask something: each answer is measured, and this shows how evenly its tokens came.</source>
        <translation>Hãy hỏi một điều gì đó: mỗi câu trả lời đều được đo, và đây sẽ cho thấy các token đến đều đặn ra sao.</translation>
    </message>
    <message>
        <source>Tokens of the prompt</source>
        <translation>Số token của lời nhắc</translation>
    </message>
    <message>
        <source>Tokens of the answer</source>
        <translation>Số token của câu trả lời</translation>
    </message>
    <message>
        <source>Repeats</source>
        <translation>Số lần lặp</translation>
    </message>
    <message>
        <source>How often it is run</source>
        <translation>Chạy bao nhiêu lần</translation>
    </message>
    <message>
        <source>Seed</source>
        <translation>Seed</translation>
    </message>
    <message>
        <source>Of words and sampling, also for the comparison of two plans</source>
        <translation>Của các từ và của việc lấy mẫu, dùng cả khi so sánh hai phương án</translation>
    </message>
    <message>
        <source>Run</source>
        <translation>Chạy</translation>
    </message>
    <message>
        <source>Run it through the loaded model; the conversation stays as it is</source>
        <translation>Chạy kịch bản bằng mô hình đã nạp; cuộc trò chuyện giữ nguyên</translation>
    </message>
    <message>
        <source>Prompt</source>
        <translation>Lời nhắc</translation>
    </message>
    <message>
        <source>Answer</source>
        <translation>Trả lời</translation>
    </message>
    <message>
        <source>Scenario runs</source>
        <translation>Các lượt chạy kịch bản</translation>
    </message>
    <message>
        <source>Prompt for both plans</source>
        <translation>Lời nhắc cho cả hai phương án</translation>
    </message>
    <message>
        <source>Tokens of the answers</source>
        <translation>Số token của các câu trả lời</translation>
    </message>
    <message>
        <source>At most so many, for both plans</source>
        <translation>Nhiều nhất chừng này, cho cả hai phương án</translation>
    </message>
    <message>
        <source>Compare</source>
        <translation>So sánh</translation>
    </message>
    <message>
        <source>Plan A is what is in force. It answers, then plan B does, then plan A is put back. Both use the same seed</source>
        <translation>Phương án A là phương án đang có hiệu lực. A trả lời trước, rồi đến B, sau đó A được khôi phục. Cả hai dùng cùng một seed</translation>
    </message>
    <message>
        <source>At most</source>
        <translation>Tối đa</translation>
    </message>
    <message>
        <source>tokens</source>
        <translation>token</translation>
    </message>
    <message>
        <source>Plan B (plan A is as it is now)</source>
        <translation>Phương án B (phương án A giữ như hiện nay)</translation>
    </message>
    <message>
        <source>One token: there is no time between tokens.</source>
        <translation>Chỉ một token: không có khoảng thời gian giữa các token.</translation>
    </message>
    <message>
        <source>from one token to the next</source>
        <translation>từ token này đến token kế tiếp</translation>
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
        <translation>số bước</translation>
    </message>
    <message>
        <source>Save the results</source>
        <translation>Lưu kết quả</translation>
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
        <translation>Đã lưu vào %1.</translation>
    </message>
    <message>
        <source>So many: words of several fields, cut to this length by the tokenizer</source>
        <translation>Đúng chừng ấy: các từ thuộc nhiều lĩnh vực, được bộ tách token cắt theo độ dài này</translation>
    </message>
    <message>
        <source>So many: where the model would end its answer, it goes on</source>
        <translation>Đúng chừng ấy: chỗ mô hình muốn kết thúc câu trả lời, nó viết tiếp</translation>
    </message>
    <message>
        <source>Save pictures of plots as PNG: which ones is asked first</source>
        <translation>Lưu hình của các biểu đồ thành PNG: sẽ hỏi trước là những biểu đồ nào</translation>
    </message>
    <message>
        <source>Median of the runs</source>
        <translation>Trung vị các lần chạy</translation>
    </message>
    <message>
        <source>Times and speeds are simulated: the device is emulated.</source>
        <translation>Thời gian và tốc độ là mô phỏng: thiết bị được giả lập.</translation>
    </message>
    <message>
        <source>Times and speeds are measured, by the device&apos;s clock.</source>
        <translation>Thời gian và tốc độ được đo bằng đồng hồ của thiết bị.</translation>
    </message>
    <message>
        <source>Median of %1 runs: %2, first token after %3.</source>
        <translation>Trung vị của %1 lần chạy: %2, token đầu sau %3.</translation>
    </message>
    <message>
        <source>A run is under way</source>
        <translation>Đang chạy</translation>
    </message>
    <message>
        <source>An answer is being written; wait for its end</source>
        <translation>Đang viết câu trả lời; hãy đợi xong</translation>
    </message>
    <message>
        <source>Plan B is plan A as yet: change one of its budgets</source>
        <translation>Kế hoạch B vẫn là kế hoạch A: hãy đổi một ngân sách của nó</translation>
    </message>
    <message>
        <source>Write a prompt for both plans first</source>
        <translation>Trước hết hãy viết prompt cho cả hai kế hoạch</translation>
    </message>
    <message>
        <source>There are no results yet: ask something, or run a scenario</source>
        <translation>Chưa có kết quả: hãy hỏi điều gì đó hoặc chạy một kịch bản</translation>
    </message>
    <message>
        <source>Emulated devices have simulated times and speeds, the others measured ones: the pointer over a row shows its device.</source>
        <translation>Thiết bị mô phỏng có thời gian và tốc độ mô phỏng, các thiết bị khác thì được đo: rê con trỏ lên một hàng để xem thiết bị của hàng đó.</translation>
    </message>
    <message>
        <source>Time between tokens (ITL) of %1 decode steps, by the device&apos;s clock: p50 %2, p95 %3, p99 %4</source>
        <translation>Thời gian giữa các token (ITL) qua %1 bước giải mã, theo đồng hồ của thiết bị: p50 %2, p95 %3, p99 %4</translation>
    </message>
</context>
<context>
    <name>offstage::ui::BenchmarkRunner</name>
    <message>
        <source>The run was interrupted.</source>
        <translation>Lượt chạy đã bị ngắt giữa chừng.</translation>
    </message>
    <message>
        <source>Another model was opened; the run has ended.</source>
        <translation>Một mô hình khác đã được mở; lượt chạy đã kết thúc.</translation>
    </message>
    <message>
        <source>Run %1 of %2</source>
        <translation>Lượt chạy %1/%2</translation>
    </message>
    <message>
        <source>Plan A answers</source>
        <translation>Phương án A đang trả lời</translation>
    </message>
    <message>
        <source>Going to plan B</source>
        <translation>Đang chuyển sang phương án B</translation>
    </message>
    <message>
        <source>Plan B answers</source>
        <translation>Phương án B đang trả lời</translation>
    </message>
    <message>
        <source>Going back to plan A</source>
        <translation>Đang quay về phương án A</translation>
    </message>
    <message>
        <source>The engine is busy; try again when the answer is written.</source>
        <translation>Bộ máy đang bận; hãy thử lại khi câu trả lời đã viết xong.</translation>
    </message>
    <message>
        <source>This engine cannot be re-planned now.</source>
        <translation>Hiện không thể đổi phương án của bộ máy này.</translation>
    </message>
    <message>
        <source>The plan before could not be put back: %1</source>
        <translation>Không khôi phục được phương án trước: %1</translation>
    </message>
    <message>
        <source>%1 in, %2 out</source>
        <translation>%1 token vào, %2 ra</translation>
    </message>
    <message>
        <source>plan A</source>
        <translation>phương án A</translation>
    </message>
    <message>
        <source>plan B</source>
        <translation>phương án B</translation>
    </message>
    <message>
        <source>%1: the context was full after %2</source>
        <translation>%1: ngữ cảnh đã đầy sau %2</translation>
    </message>
    <message>
        <source>%1: ended early, after %2</source>
        <translation>%1: kết thúc sớm, sau %2</translation>
    </message>
    <message>
        <source>This engine cannot skip neurons.</source>
        <translation>Bộ máy này không thể bỏ qua nơ-ron.</translation>
    </message>
</context>
<context>
    <name>offstage::ui::BenchmarkTable</name>
    <message>
        <source>run</source>
        <translation>lượt chạy</translation>
    </message>
    <message>
        <source>in</source>
        <translation>vào</translation>
    </message>
    <message>
        <source>out</source>
        <translation>ra</translation>
    </message>
    <message>
        <source>TTFT ms</source>
        <translation>TTFT (ms)</translation>
    </message>
    <message>
        <source>tokens/s</source>
        <translation>token/s</translation>
    </message>
    <message>
        <source>p50 ms</source>
        <translation>p50 (ms)</translation>
    </message>
    <message>
        <source>p95 ms</source>
        <translation>p95 (ms)</translation>
    </message>
    <message>
        <source>p99 ms</source>
        <translation>p99 (ms)</translation>
    </message>
    <message>
        <source>hit rate</source>
        <translation>tỷ lệ trúng</translation>
    </message>
    <message>
        <source>copied</source>
        <translation>đã sao chép</translation>
    </message>
    <message>
        <source>The answer, or the scenario</source>
        <translation>Câu trả lời hoặc kịch bản</translation>
    </message>
    <message>
        <source>Tokens of the prompt</source>
        <translation>Số token của lời nhắc</translation>
    </message>
    <message>
        <source>Tokens of the answer</source>
        <translation>Số token của câu trả lời</translation>
    </message>
    <message>
        <source>Time to the first token</source>
        <translation>Thời gian đến token đầu tiên</translation>
    </message>
    <message>
        <source>Time from one token to the next, median of the engine&apos;s decode steps</source>
        <translation>Thời gian từ token này đến token kế tiếp, trung vị các bước giải mã của bộ máy</translation>
    </message>
    <message>
        <source>95 of 100 steps take no longer</source>
        <translation>95 trên 100 bước không lâu hơn mức này</translation>
    </message>
    <message>
        <source>99 of 100 steps take no longer</source>
        <translation>99 trên 100 bước không lâu hơn mức này</translation>
    </message>
    <message>
        <source>Expert calls that found their expert on the accelerator</source>
        <translation>Số lần gọi chuyên gia mà chuyên gia đã có sẵn trên bộ tăng tốc</translation>
    </message>
    <message>
        <source>Weights copied to the accelerator</source>
        <translation>Trọng số đã sao chép sang bộ tăng tốc</translation>
    </message>
    <message>
        <source>Decode, after the first token; – where there is none, or where a scenario&apos;s answer ended early</source>
        <translation>Giải mã, sau token đầu tiên; – khi không có, hoặc khi câu trả lời của kịch bản kết thúc sớm</translation>
    </message>
    <message>
        <source>%1
%2
%3, %4, %5 bits on average, seed %6</source>
        <translation>%1
%2
%3, %4, trung bình %5 bit, hạt giống %6</translation>
    </message>
</context>
<context>
    <name>offstage::ui::BudgetForm</name>
    <message>
        <source>VRAM budget</source>
        <translation>Hạn mức VRAM</translation>
    </message>
    <message>
        <source>RAM budget</source>
        <translation>Hạn mức RAM</translation>
    </message>
    <message>
        <source>Context in tokens</source>
        <translation>Ngữ cảnh tính bằng token</translation>
    </message>
    <message>
        <source>Memory of this computer that Offstage may take. Experts that find no room in it are read from disk when they are called</source>
        <translation>Bộ nhớ của máy tính này mà Offstage được dùng. Chuyên gia nào không còn chỗ sẽ được đọc từ đĩa khi được gọi</translation>
    </message>
    <message>
        <source>Tokens that a conversation can hold. Its KV cache takes room that experts could have</source>
        <translation>Số token mà một cuộc trò chuyện chứa được. Bộ nhớ đệm KV của nó chiếm chỗ mà các chuyên gia có thể dùng</translation>
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
        <translation>Ngữ cảnh</translation>
    </message>
    <message>
        <source>Quality</source>
        <translation>Chất lượng</translation>
    </message>
    <message>
        <source>The model runs on the CPU, which has no memory of its own. RAM and context count.</source>
        <translation>Mô hình chạy trên CPU, vốn không có bộ nhớ riêng. Chỉ RAM và ngữ cảnh có ý nghĩa.</translation>
    </message>
    <message>
        <source>KV cache</source>
        <translation>KV cache</translation>
    </message>
    <message>
        <source>What this quality changes</source>
        <translation>Chất lượng này thay đổi điều gì</translation>
    </message>
    <message>
        <source>Memory of the accelerator that Offstage may take, for everything: dense weights, experts, KV cache and buffers</source>
        <translation>Bộ nhớ của bộ tăng tốc mà Offstage được dùng cho mọi thứ: trọng số dày đặc, chuyên gia, bộ đệm KV và các bộ đệm khác</translation>
    </message>
    <message>
        <source>How exactly experts are kept. Fewer bits are smaller and faster, and change what the model says</source>
        <translation>Chuyên gia được giữ chính xác đến đâu. Ít bit hơn thì nhỏ hơn và nhanh hơn, và thay đổi điều mô hình nói</translation>
    </message>
    <message>
        <source>Advanced</source>
        <translation>Nâng cao</translation>
    </message>
    <message>
        <source>Formats and floors of experts, neurons that are skipped, single experts</source>
        <translation>Định dạng và mức sàn của chuyên gia, nơ-ron bị bỏ qua, từng chuyên gia</translation>
    </message>
    <message>
        <source>Experts</source>
        <translation>Chuyên gia</translation>
    </message>
    <message>
        <source>Skip weak
neurons</source>
        <translation>Bỏ qua nơ-ron
yếu</translation>
    </message>
    <message>
        <source>Single experts…</source>
        <translation>Từng chuyên gia…</translation>
    </message>
    <message>
        <source>Opens the Experts panel: mark experts there, and Change gives them other bits</source>
        <translation>Mở bảng Chuyên gia: đánh dấu chuyên gia ở đó, rồi Thay đổi cho chúng số bit khác</translation>
    </message>
    <message>
        <source>The experts of this file have no more bits: %1</source>
        <translation>Chuyên gia của tệp này không có nhiều bit hơn: %1</translation>
    </message>
    <message>
        <source>Custom</source>
        <translation>Tùy chỉnh</translation>
    </message>
    <message>
        <source>As chosen below, under Advanced</source>
        <translation>Như đã chọn bên dưới, trong phần Nâng cao</translation>
    </message>
</context>
<context>
    <name>offstage::ui::BudgetPanel</name>
    <message>
        <source>none</source>
        <translation>không có</translation>
    </message>
    <message>
        <source>Apply</source>
        <translation>Áp dụng</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>Hoàn tác</translation>
    </message>
    <message>
        <source>Reset</source>
        <translation>Đặt lại</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Hủy</translation>
    </message>
    <message>
        <source>Open a model to see what its memory is spent on, and to change its budgets.</source>
        <translation>Mở một mô hình để xem bộ nhớ được dùng vào việc gì và để thay đổi hạn mức.</translation>
    </message>
    <message>
        <source>What memory is spent on</source>
        <translation>Bộ nhớ được dùng vào việc gì</translation>
    </message>
    <message>
        <source>VRAM and RAM, each divided into what holds it. Arrow keys move from part to part.</source>
        <translation>VRAM và RAM, mỗi loại chia theo thứ đang chiếm chỗ. Dùng các phím mũi tên để chuyển từ phần này sang phần khác.</translation>
    </message>
    <message>
        <source>Move a slider to see what it would change. Nothing happens before Apply.</source>
        <translation>Kéo một thanh trượt để xem điều gì sẽ thay đổi. Chưa có gì xảy ra cho đến khi bạn nhấn “Áp dụng”.</translation>
    </message>
    <message>
        <source>Carry this out in the background; the conversation goes on meanwhile</source>
        <translation>Thực hiện thay đổi ở chế độ nền; cuộc trò chuyện vẫn tiếp tục</translation>
    </message>
    <message>
        <source>Put the sliders back to what is in force</source>
        <translation>Đưa các thanh trượt về giá trị đang có hiệu lực</translation>
    </message>
    <message>
        <source>Stop moving experts and go back to the plan before</source>
        <translation>Dừng chuyển chuyên gia và quay lại phương án trước</translation>
    </message>
    <message>
        <source>Progress of the re-plan</source>
        <translation>Tiến độ đổi phương án</translation>
    </message>
    <message>
        <source>%1, now</source>
        <translation>%1, hiện tại</translation>
    </message>
    <message>
        <source>%1, after</source>
        <translation>%1, sau đó</translation>
    </message>
    <message>
        <source>now</source>
        <translation>hiện tại</translation>
    </message>
    <message>
        <source>after</source>
        <translation>sau đó</translation>
    </message>
    <message>
        <source>Tokens/s</source>
        <translation>Token/s</translation>
    </message>
    <message>
        <source>First token</source>
        <translation>Token đầu tiên</translation>
    </message>
    <message>
        <source>Mean bits</source>
        <translation>Số bit trung bình</translation>
    </message>
    <message>
        <source>Per expert weight</source>
        <translation>Cho mỗi trọng số của chuyên gia</translation>
    </message>
    <message>
        <source>Predicted loss</source>
        <translation>Tổn thất dự đoán</translation>
    </message>
    <message>
        <source>Squared relative error of the experts&apos; weights, weighed by how often each is used</source>
        <translation>Bình phương sai số tương đối của trọng số các chuyên gia, tính theo mức độ thường dùng của từng chuyên gia</translation>
    </message>
    <message>
        <source>Experts on the device</source>
        <translation>Chuyên gia trên thiết bị</translation>
    </message>
    <message>
        <source>Of all experts of all layers</source>
        <translation>Trên tổng số chuyên gia của mọi lớp</translation>
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
        <translation>Hiện không thể đổi phương án của bộ máy này.</translation>
    </message>
    <message>
        <source>Working it out…</source>
        <translation>Đang tính…</translation>
    </message>
    <message>
        <source>%1 of %2</source>
        <translation>%1/%2</translation>
    </message>
    <message>
        <source>Nothing has to be moved.</source>
        <translation>Không phải chuyển gì.</translation>
    </message>
    <message>
        <source>%1 to move, about %2.</source>
        <translation>Phải chuyển %1, mất khoảng %2.</translation>
    </message>
    <message>
        <source>Waiting for the end of a step</source>
        <translation>Đang chờ hết một bước</translation>
    </message>
    <message>
        <source>%1 of %2 copies, %3 of %4</source>
        <translation>%1/%2 bản sao, %3 / %4</translation>
    </message>
    <message>
        <source>In force: nothing had to be moved.</source>
        <translation>Đã có hiệu lực: không phải chuyển gì.</translation>
    </message>
    <message>
        <source>In force: %1 moved in %2.</source>
        <translation>Đã có hiệu lực: đã chuyển %1 trong %2.</translation>
    </message>
    <message>
        <source>Cancelled: the plan before is in force again. %1 of %2 copies had been made.</source>
        <translation>Đã hủy: phương án trước có hiệu lực trở lại. %1/%2 bản sao đã được tạo.</translation>
    </message>
    <message>
        <source>Another change took its place.</source>
        <translation>Một thay đổi khác đã thế chỗ.</translation>
    </message>
    <message>
        <source>The change could not be made; the plan before is in force.</source>
        <translation>Không thực hiện được thay đổi; phương án trước vẫn có hiệu lực.</translation>
    </message>
    <message>
        <source>Go back to the budgets before; there are none yet</source>
        <translation>Quay lại hạn mức trước đó; hiện chưa có</translation>
    </message>
    <message>
        <source>Go back to %1</source>
        <translation>Quay lại %1</translation>
    </message>
    <message>
        <source>Now: as measured, where something was; after: the forecast from measured costs, put right by that</source>
        <translation>Hiện tại: theo số đo, nếu đã đo được; sau đó: dự báo từ chi phí đã đo, được hiệu chỉnh theo số đo đó</translation>
    </message>
    <message>
        <source>Forecast time to the first token of a prompt of 512 tokens, of both plans</source>
        <translation>Thời gian dự báo đến token đầu tiên của lời nhắc 512 token, cho cả hai phương án</translation>
    </message>
    <message>
        <source>Share of expert calls that find their expert on the accelerator; measured: of tokens written, prompts not counted</source>
        <translation>Tỷ lệ lần gọi tìm thấy chuyên gia của mình trên bộ tăng tốc; số đo: của các token được viết ra, không tính lời nhắc</translation>
    </message>
    <message>
        <source>What the figures rest on</source>
        <translation>Các con số dựa trên điều gì</translation>
    </message>
    <message>
        <source>Going back to the plan before</source>
        <translation>Đang quay lại phương án trước</translation>
    </message>
    <message>
        <source>Cancelling…</source>
        <translation>Đang hủy…</translation>
    </message>
    <message>
        <source>A change is under way</source>
        <translation>Đang thay đổi</translation>
    </message>
    <message>
        <source>Nothing is changed yet: move a slider</source>
        <translation>Chưa thay đổi gì: hãy kéo một thanh trượt</translation>
    </message>
    <message>
        <source>What it would change is being worked out</source>
        <translation>Đang tính xem sẽ thay đổi gì</translation>
    </message>
    <message>
        <source>The sliders show what is in force</source>
        <translation>Các thanh trượt cho thấy thiết lập hiện hành</translation>
    </message>
    <message>
        <source>%1; about %2 left</source>
        <translation>%1; còn khoảng %2</translation>
    </message>
    <message>
        <source>Active neurons</source>
        <translation>Nơ-ron hoạt động</translation>
    </message>
    <message>
        <source>Share of a token&apos;s neurons that is not skipped, as measured over a text</source>
        <translation>Tỉ lệ nơ-ron của một token không bị bỏ qua, đo trên một văn bản</translation>
    </message>
    <message>
        <source>Kullback-Leibler divergence from the whole model, as measured over a text by “offstage-cli sensitivity --keep”</source>
        <translation>Độ phân kỳ Kullback-Leibler so với mô hình đầy đủ, đo trên một văn bản bằng “offstage-cli sensitivity --keep”</translation>
    </message>
    <message>
        <source>all</source>
        <comment>neurons</comment>
        <translation>tất cả</translation>
    </message>
    <message>
        <source>not measured</source>
        <translation>chưa đo</translation>
    </message>
    <message>
        <source>KL %1</source>
        <translation>KL %1</translation>
    </message>
    <message>
        <source>This engine cannot skip neurons.</source>
        <translation>Bộ máy này không thể bỏ qua nơ-ron.</translation>
    </message>
    <message>
        <source>In force from the next token on: %1. Answers are no longer the model&apos;s own.</source>
        <translation>Có hiệu lực từ token kế tiếp: %1. Câu trả lời không còn đúng là của mô hình.</translation>
    </message>
    <message>
        <source>In force from the next token on: no neurons are skipped.</source>
        <translation>Có hiệu lực từ token kế tiếp: không bỏ qua nơ-ron nào.</translation>
    </message>
    <message>
        <source>What is being moved</source>
        <translation>Những gì đang được chuyển</translation>
    </message>
    <message>
        <source>Going back to the plan before; about %1 left</source>
        <translation>Đang quay lại kế hoạch trước; còn khoảng %1</translation>
    </message>
    <message>
        <source>%1 bits on average.</source>
        <translation>Trung bình %1 bit.</translation>
    </message>
    <message>
        <source>Loss by skipped neurons</source>
        <translation>Mất mát do các nơ-ron bị bỏ qua</translation>
    </message>
    <message>
        <source>Quality change: %1</source>
        <translation>Thay đổi chất lượng: %1</translation>
    </message>
    <message>
        <source>Working out the plan</source>
        <translation>Đang tính kế hoạch</translation>
    </message>
    <message>
        <source>Hit rate of answers</source>
        <translation>Tỷ lệ trúng của câu trả lời</translation>
    </message>
    <message>
        <source>A note on the plan</source>
        <translation>Một ghi chú về kế hoạch</translation>
    </message>
    <message>
        <source>Pale, below the bars: the plan after.</source>
        <translation>Màu nhạt, dưới các thanh: kế hoạch sau đó.</translation>
    </message>
    <message>
        <source>%1 to move, at least %2 (not timed yet).</source>
        <translation>Cần chuyển %1, ít nhất %2 (chưa được đo).</translation>
    </message>
    <message>
        <source>Less for experts that were quantized before.</source>
        <translation>Ít hơn với các chuyên gia đã được lượng tử hóa trước.</translation>
    </message>
    <message numerus="yes">
        <source>Now: simulated, %n token(s). The rest: forecast.</source>
        <translation>
            <numerusform>Hiện tại: mô phỏng, %n token. Còn lại: dự báo.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>Now: measured, %n token(s). The rest: forecast.</source>
        <translation>
            <numerusform>Hiện tại: số đo, %n token. Còn lại: dự báo.</numerusform>
        </translation>
    </message>
    <message>
        <source>Nothing measured yet: “now” is a forecast too.</source>
        <translation>Chưa đo được gì: “hiện tại” cũng là dự báo.</translation>
    </message>
    <message>
        <source>Tokens/s and hit rate now are of the last tokens that were written with this plan; everything else is a forecast</source>
        <translation>Token/s và tỷ lệ trúng hiện tại là của những token gần nhất được viết với phương án này; mọi thứ khác là dự báo</translation>
    </message>
    <message>
        <source>Experts stay in %1 bits: fewer are not known to be faster here.</source>
        <translation>Các chuyên gia giữ %1 bit: chưa biết ít bit hơn có nhanh hơn ở đây không.</translation>
    </message>
</context>
<context>
    <name>offstage::ui::CacheComparison</name>
    <message>
        <source>No cache</source>
        <translation>Không có bộ nhớ đệm</translation>
    </message>
    <message>
        <source>Best possible</source>
        <translation>Tốt nhất có thể</translation>
    </message>
</context>
<context>
    <name>offstage::ui::CachePanel</name>
    <message>
        <source>Layer whose hit rate is shown beside that of all</source>
        <translation>Lớp có tỷ lệ trúng được hiện cạnh tỷ lệ của mọi lớp</translation>
    </message>
    <message>
        <source>Each token</source>
        <translation>Từng token</translation>
    </message>
    <message>
        <source>Mean of %1 tokens</source>
        <translation>Trung bình %1 token</translation>
    </message>
    <message>
        <source>Over how many tokens lines are averaged</source>
        <translation>Các đường được lấy trung bình trên bao nhiêu token</translation>
    </message>
    <message>
        <source>hit rate</source>
        <translation>tỷ lệ trúng</translation>
    </message>
    <message>
        <source>all layers</source>
        <translation>mọi lớp</translation>
    </message>
    <message>
        <source>Hit rate over time</source>
        <translation>Tỷ lệ trúng theo thời gian</translation>
    </message>
    <message>
        <source>prefetch</source>
        <translation>nạp trước</translation>
    </message>
    <message>
        <source>recall</source>
        <translation>độ phủ</translation>
    </message>
    <message>
        <source>precision</source>
        <translation>độ chính xác</translation>
    </message>
    <message>
        <source>Prefetch recall and precision over time</source>
        <translation>Độ phủ và độ chính xác của việc nạp trước theo thời gian</translation>
    </message>
    <message>
        <source>Recall: of the calls whose expert had no place on the device, those that a guess had brought in time.
Precision: of the experts copied on a guess, those that were called.</source>
        <translation>Độ phủ: trong số lần gọi mà chuyên gia không có chỗ trên thiết bị, những lần được phỏng đoán nạp vào kịp lúc.
Độ chính xác: trong số chuyên gia được sao chép theo phỏng đoán, những chuyên gia đã được gọi.</translation>
    </message>
    <message>
        <source>copied per token</source>
        <translation>sao chép mỗi token</translation>
    </message>
    <message>
        <source>Bytes moved per token</source>
        <translation>Số byte chuyển mỗi token</translation>
    </message>
    <message>
        <source>Bytes of weights that were copied to the device, by each token</source>
        <translation>Số byte trọng số đã sao chép sang thiết bị, theo từng token</translation>
    </message>
    <message>
        <source>exchanged per token</source>
        <translation>đổi chỗ mỗi token</translation>
    </message>
    <message>
        <source>experts exchanged per token</source>
        <translation>chuyên gia đổi chỗ mỗi token</translation>
    </message>
    <message>
        <source>Experts exchanged per token</source>
        <translation>Số chuyên gia đổi chỗ mỗi token</translation>
    </message>
    <message>
        <source>Experts that were admitted to the device, each in the place of one that was evicted</source>
        <translation>Chuyên gia được nhận vào thiết bị, mỗi chuyên gia thế chỗ cho một chuyên gia bị đẩy ra</translation>
    </message>
    <message>
        <source>step</source>
        <translation>bước</translation>
    </message>
    <message>
        <source>Write a prompt to see how many calls find their expert on the device.</source>
        <translation>Viết một lời nhắc để xem bao nhiêu lần gọi có chuyên gia sẵn trên thiết bị.</translation>
    </message>
    <message>
        <source>Write a prompt to see how good the guesses are.</source>
        <translation>Viết một lời nhắc để xem phỏng đoán tốt đến đâu.</translation>
    </message>
    <message>
        <source>Write a prompt to see how much is copied.</source>
        <translation>Viết một lời nhắc để xem phải sao chép bao nhiêu.</translation>
    </message>
    <message>
        <source>Write a prompt to see how many experts are exchanged.</source>
        <translation>Viết một lời nhắc để xem bao nhiêu chuyên gia được đổi chỗ.</translation>
    </message>
    <message>
        <source>Sums since the model was loaded</source>
        <translation>Tổng cộng từ khi nạp mô hình</translation>
    </message>
    <message>
        <source>Open a model and write a prompt to see how well its cache of experts works.</source>
        <translation>Mở một mô hình và viết một lời nhắc để xem bộ nhớ đệm chuyên gia của nó hoạt động tốt đến đâu.</translation>
    </message>
    <message>
        <source>Experts in the cache</source>
        <translation>Chuyên gia trong bộ nhớ đệm</translation>
    </message>
    <message>
        <source>How many experts each policy may keep; at first as many as are on the device now</source>
        <translation>Mỗi chính sách được giữ bao nhiêu chuyên gia; ban đầu bằng số đang có trên thiết bị</translation>
    </message>
    <message>
        <source>Replays the recorded calls under each policy, without running the model</source>
        <translation>Phát lại các lần gọi đã ghi theo từng chính sách, không chạy mô hình</translation>
    </message>
    <message>
        <source>Progress of the comparison</source>
        <translation>Tiến độ so sánh</translation>
    </message>
    <message>
        <source>What was compared</source>
        <translation>Những gì đã được so sánh</translation>
    </message>
    <message>
        <source>Hit rate by cache policy</source>
        <translation>Tỷ lệ trúng theo chính sách bộ nhớ đệm</translation>
    </message>
    <message>
        <source>Policy</source>
        <translation>Chính sách</translation>
    </message>
    <message>
        <source>Hit rate</source>
        <translation>Tỷ lệ trúng</translation>
    </message>
    <message>
        <source>Answers</source>
        <translation>Câu trả lời</translation>
    </message>
    <message>
        <source>Copies</source>
        <translation>Bản sao</translation>
    </message>
    <message>
        <source>Share of calls that found their expert on the device</source>
        <translation>Tỷ lệ số lần gọi mà chuyên gia đã có sẵn trên thiết bị</translation>
    </message>
    <message>
        <source>The same of answers alone, without prompts</source>
        <translation>Như trên, nhưng chỉ tính câu trả lời, không tính lời nhắc</translation>
    </message>
    <message>
        <source>Experts copied to the device, per token</source>
        <translation>Số chuyên gia được sao chép sang thiết bị, mỗi token</translation>
    </message>
    <message>
        <source>Cache policies compared</source>
        <translation>So sánh các chính sách bộ nhớ đệm</translation>
    </message>
    <message>
        <source>All layers</source>
        <translation>Mọi lớp</translation>
    </message>
    <message>
        <source>All, and layer %1</source>
        <translation>Mọi lớp, và lớp %1</translation>
    </message>
    <message>
        <source>layer %1</source>
        <translation>lớp %1</translation>
    </message>
    <message>
        <source>prompt</source>
        <translation>lời nhắc</translation>
    </message>
    <message>
        <source>%1 of %2 guesses used</source>
        <translation>đã dùng %1/%2 phỏng đoán</translation>
    </message>
    <message>
        <source>no expert was copied on a guess</source>
        <translation>không có chuyên gia nào được sao chép theo phỏng đoán</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Hủy</translation>
    </message>
    <message>
        <source>Compare policies</source>
        <translation>So sánh chính sách</translation>
    </message>
    <message>
        <source>Write a prompt first: policies are compared on its recorded calls.</source>
        <translation>Hãy viết một lời nhắc trước: các chính sách được so sánh trên những lần gọi đã ghi của nó.</translation>
    </message>
    <message>
        <source>No step is recorded whole; write a prompt and try again.</source>
        <translation>Chưa có bước nào được ghi trọn vẹn; hãy viết một lời nhắc rồi thử lại.</translation>
    </message>
    <message>
        <source>Replaying %1 steps…</source>
        <translation>Đang phát lại %1 bước…</translation>
    </message>
    <message>
        <source>%1 of %2 experts in the cache, %3 steps replayed; each policy begins with the experts planned for.</source>
        <translation>%1/%2 chuyên gia trong bộ nhớ đệm, đã phát lại %3 bước; mỗi chính sách bắt đầu với các chuyên gia của phương án.</translation>
    </message>
    <message>
        <source>Write a prompt first: policies are compared on its recorded calls</source>
        <translation>Trước hết hãy viết prompt: các chính sách được so sánh trên các lượt gọi đã ghi của nó</translation>
    </message>
    <message>
        <source>Stop the comparison</source>
        <translation>Dừng so sánh</translation>
    </message>
    <message>
        <source>The model runs on the CPU: there is no cache whose lines could be drawn</source>
        <translation>Mô hình chạy trên CPU: không có bộ nhớ đệm để vẽ đường</translation>
    </message>
    <message>
        <source>Share of (token, expert) pairs that found their expert on the device; of experts that are copied without some of their neurons, the share of the needed ones that were there. A click selects the token.</source>
        <translation>Tỷ lệ các cặp (token, chuyên gia) tìm thấy chuyên gia trên thiết bị; với các chuyên gia được sao chép thiếu một phần nơ-ron, tỷ lệ nơ-ron cần dùng đã có sẵn ở đó. Nhấp để chọn token.</translation>
    </message>
    <message>
        <source>neurons</source>
        <translation>nơ-ron</translation>
    </message>
    <message>
        <source>neurons hit: %1</source>
        <translation>nơ-ron trúng: %1</translation>
    </message>
    <message>
        <source>Layer whose experts are shown over tokens</source>
        <translation>Lớp có chuyên gia được hiện theo token</translation>
    </message>
    <message>
        <source>Experts over tokens</source>
        <translation>Chuyên gia theo token</translation>
    </message>
    <message>
        <source>Which experts of the layer each of the latest %1 steps called, and where they ran: one column for each token of an answer, one for a prompt. A click selects the token.</source>
        <translation>Mỗi bước trong %1 bước mới nhất đã gọi những chuyên gia nào của lớp và chúng chạy ở đâu: mỗi token của câu trả lời một cột, mỗi lời nhắc một cột. Nhấp để chọn token.</translation>
    </message>
    <message>
        <source>Write a prompt to see which experts its tokens call.</source>
        <translation>Viết một lời nhắc để xem các token của nó gọi những chuyên gia nào.</translation>
    </message>
    <message>
        <source>Layer %1</source>
        <translation>Lớp %1</translation>
    </message>
    <message>
        <source>Since loading, prompts included: hit rate %1; %2 copied; %3 experts exchanged</source>
        <translation>Từ khi nạp, kể cả lời nhắc: tỷ lệ trúng %1; đã chép %2; đã đổi %3 chuyên gia</translation>
    </message>
    <message>
        <source>Different rules of what goes when room is needed, beside the best that is possible, on the calls of this model that were recorded.</source>
        <translation>Các quy tắc khác nhau về việc bỏ gì khi cần chỗ, bên cạnh mức tốt nhất có thể, trên các lần gọi đã ghi của mô hình này.</translation>
    </message>
    <message>
        <source>Over time</source>
        <translation>Theo thời gian</translation>
    </message>
    <message>
        <source>Experts</source>
        <translation>Chuyên gia</translation>
    </message>
    <message>
        <source>Policies</source>
        <translation>Chính sách</translation>
    </message>
    <message>
        <source>What is shown of the cache</source>
        <translation>Những gì được hiển thị về bộ nhớ đệm</translation>
    </message>
    <message>
        <source>The model runs on the CPU: there is no accelerator whose memory would be a cache for experts. What a cache would do can be tried under Policies.</source>
        <translation>Mô hình chạy trên CPU: không có bộ tăng tốc nào có bộ nhớ để làm bộ nhớ đệm cho chuyên gia. Bạn có thể thử trong “Chính sách” xem bộ nhớ đệm sẽ mang lại gì.</translation>
    </message>
</context>
<context>
    <name>offstage::ui::ChatController</name>
    <message>
        <source>Reading the prompt…</source>
        <translation>Đang đọc lời nhắc…</translation>
    </message>
    <message>
        <source>Making the context larger…</source>
        <translation>Đang mở rộng ngữ cảnh…</translation>
    </message>
</context>
<context>
    <name>offstage::ui::ChatPage</name>
    <message>
        <source>What shall we talk about?</source>
        <translation>Hôm nay chúng ta nói về chuyện gì?</translation>
    </message>
    <message>
        <source>%1 · %2 · %3 weights, %4 per token</source>
        <translation>%1 · %2 · %3 trọng số, %4 cho mỗi token</translation>
    </message>
    <message>
        <source>Raising the curtain…</source>
        <translation>Đang kéo màn…</translation>
    </message>
    <message>
        <source>The model is loading. You can write your message already.</source>
        <translation>Mô hình đang được nạp. Bạn có thể viết tin nhắn ngay từ bây giờ.</translation>
    </message>
    <message>
        <source>No model is open</source>
        <translation>Chưa mở mô hình nào</translation>
    </message>
    <message>
        <source>Open a Mixture-of-Experts model, or drop its folder or GGUF file on this window.</source>
        <translation>Hãy mở một mô hình Mixture-of-Experts, hoặc thả thư mục hay tệp GGUF của nó vào cửa sổ này.</translation>
    </message>
    <message>
        <source>No model is open. Your text stays here.</source>
        <translation>Chưa mở mô hình nào. Văn bản của bạn vẫn ở đây.</translation>
    </message>
    <message>
        <source>An answer is on its way. Your text stays here: send it after that.</source>
        <translation>Một câu trả lời đang đến. Văn bản của bạn vẫn ở đây: hãy gửi sau đó.</translation>
    </message>
    <message>
        <source>An answer is on its way. Your text stays here: save it after that.</source>
        <translation>Một câu trả lời đang đến. Văn bản của bạn vẫn ở đây: hãy lưu sau đó.</translation>
    </message>
</context>
<context>
    <name>offstage::ui::CommandPalette</name>
    <message>
        <source>Commands</source>
        <translation>Lệnh</translation>
    </message>
    <message>
        <source>Command to look for</source>
        <translation>Lệnh cần tìm</translation>
    </message>
    <message>
        <source>Commands found</source>
        <translation>Các lệnh tìm thấy</translation>
    </message>
    <message>
        <source>No command has this name.</source>
        <translation>Không có lệnh nào mang tên này.</translation>
    </message>
    <message>
        <source>Type a command or a setting</source>
        <translation>Nhập một lệnh hoặc thiết lập</translation>
    </message>
</context>
<context>
    <name>offstage::ui::ComparisonView</name>
    <message>
        <source>the same</source>
        <translation>như nhau</translation>
    </message>
    <message>
        <source>%1 %</source>
        <comment>percent</comment>
        <translation>%1 %</translation>
    </message>
    <message>
        <source>%1 points</source>
        <comment>of a percentage</comment>
        <translation>%1 điểm</translation>
    </message>
    <message>
        <source>%1, plan %2</source>
        <translation>%1, phương án %2</translation>
    </message>
    <message>
        <source>What the comparison says</source>
        <translation>Kết quả so sánh</translation>
    </message>
    <message>
        <source>Plan A</source>
        <translation>Phương án A</translation>
    </message>
    <message>
        <source>A</source>
        <translation>A</translation>
    </message>
    <message>
        <source>Plan B</source>
        <translation>Phương án B</translation>
    </message>
    <message>
        <source>B</source>
        <translation>B</translation>
    </message>
    <message>
        <source>Budgets</source>
        <translation>Hạn mức</translation>
    </message>
    <message>
        <source>Text</source>
        <translation>Văn bản</translation>
    </message>
    <message>
        <source>Plan B against plan A: %1 tokens/s, same text.</source>
        <translation>Kế hoạch B so với A: %1 token/s, cùng văn bản.</translation>
    </message>
    <message>
        <source>Plan B against plan A: %1 tokens/s, another text.</source>
        <translation>Kế hoạch B so với A: %1 token/s, văn bản khác.</translation>
    </message>
    <message>
        <source>(the same)</source>
        <translation>(như nhau)</translation>
    </message>
    <message>
        <source>Tokens/s (simulated)</source>
        <translation>Token/s (mô phỏng)</translation>
    </message>
    <message>
        <source>Tokens/s (measured)</source>
        <translation>Token/s (đo được)</translation>
    </message>
    <message>
        <source>First token</source>
        <translation>Token đầu tiên</translation>
    </message>
    <message>
        <source>Between tokens, p95</source>
        <translation>Giữa các token, p95</translation>
    </message>
    <message>
        <source>Hit rate</source>
        <translation>Tỷ lệ trúng</translation>
    </message>
    <message>
        <source>Copied</source>
        <translation>Đã sao chép</translation>
    </message>
    <message>
        <source>Mean bits</source>
        <translation>Số bit trung bình</translation>
    </message>
    <message>
        <source>Tokens</source>
        <translation>Token</translation>
    </message>
    <message>
        <source>B against A</source>
        <translation>B so với A</translation>
    </message>
    <message>
        <source>%1, difference</source>
        <translation>%1, chênh lệch</translation>
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
        <translation>Ngữ cảnh đã dùng: %1</translation>
    </message>
    <message>
        <source>This conversation in the model&apos;s context: %1</source>
        <translation>Cuộc trò chuyện này trong ngữ cảnh của mô hình: %1</translation>
    </message>
    <message>
        <source>%1 of %2 tokens</source>
        <translation>%1 trên %2 token</translation>
    </message>
</context>
<context>
    <name>offstage::ui::ConversationFolders</name>
    <message>
        <source>New folder</source>
        <translation>Thư mục mới</translation>
    </message>
    <message>
        <source>New folder %1</source>
        <translation>Thư mục mới %1</translation>
    </message>
</context>
<context>
    <name>offstage::ui::ConversationList</name>
    <message>
        <source>Search all conversations</source>
        <translation>Tìm trong mọi cuộc trò chuyện</translation>
    </message>
    <message>
        <source>Archive</source>
        <translation>Lưu trữ</translation>
    </message>
    <message>
        <source>Show the archived conversations</source>
        <translation>Hiện các cuộc trò chuyện đã lưu trữ</translation>
    </message>
    <message>
        <source>Conversations</source>
        <translation>Cuộc trò chuyện</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>Hoàn tác</translation>
    </message>
    <message>
        <source>Close this notice</source>
        <translation>Đóng thông báo này</translation>
    </message>
    <message>
        <source>Answering…</source>
        <translation>Đang trả lời…</translation>
    </message>
    <message>
        <source>Number %1 in the queue</source>
        <translation>Thứ %1 trong hàng đợi</translation>
    </message>
    <message>
        <source>Nothing was found.</source>
        <translation>Không tìm thấy gì.</translation>
    </message>
    <message>
        <source>No conversation is archived.</source>
        <translation>Chưa có cuộc trò chuyện nào được lưu trữ.</translation>
    </message>
    <message>
        <source>Your conversations will be listed here.</source>
        <translation>Các cuộc trò chuyện của bạn sẽ hiện ở đây.</translation>
    </message>
    <message>
        <source>&amp;Rename</source>
        <translation>Đổi &amp;tên</translation>
    </message>
    <message>
        <source>Un&amp;pin</source>
        <translation>Bỏ &amp;ghim</translation>
    </message>
    <message>
        <source>&amp;Pin</source>
        <translation>&amp;Ghim</translation>
    </message>
    <message>
        <source>Take out of the &amp;archive</source>
        <translation>Đưa ra khỏi &amp;lưu trữ</translation>
    </message>
    <message>
        <source>&amp;Archive</source>
        <translation>&amp;Lưu trữ</translation>
    </message>
    <message>
        <source>&amp;Export…</source>
        <translation>&amp;Xuất…</translation>
    </message>
    <message>
        <source>&amp;Delete</source>
        <translation>Xó&amp;a</translation>
    </message>
    <message>
        <source>&amp;New conversation</source>
        <translation>Cuộc trò chuyện &amp;mới</translation>
    </message>
    <message>
        <source>&amp;Import…</source>
        <translation>&amp;Nhập…</translation>
    </message>
    <message>
        <source>“%1” was deleted</source>
        <translation>Đã xóa “%1”</translation>
    </message>
    <message>
        <source>Export the conversation</source>
        <translation>Xuất cuộc trò chuyện</translation>
    </message>
    <message>
        <source>JSON: the whole conversation (*.json)</source>
        <translation>JSON: toàn bộ cuộc trò chuyện (*.json)</translation>
    </message>
    <message>
        <source>Markdown: as it is shown (*.md)</source>
        <translation>Markdown: như đang hiển thị (*.md)</translation>
    </message>
    <message>
        <source>Import conversations</source>
        <translation>Nhập cuộc trò chuyện</translation>
    </message>
    <message>
        <source>Conversations (*.json)</source>
        <translation>Cuộc trò chuyện (*.json)</translation>
    </message>
    <message>
        <source>There is nothing to export.</source>
        <translation>Không có gì để xuất.</translation>
    </message>
    <message>
        <source>Saved as %1</source>
        <translation>Đã lưu vào %1</translation>
    </message>
    <message numerus="yes">
        <source>%n conversation(s) imported</source>
        <translation>
            <numerusform>Đã nhập %n cuộc trò chuyện</numerusform>
        </translation>
    </message>
    <message>
        <source>Export all conversations</source>
        <translation>Xuất mọi cuộc trò chuyện</translation>
    </message>
    <message>
        <source>JSON: whole conversations (*.json)</source>
        <translation>JSON: toàn bộ các cuộc trò chuyện (*.json)</translation>
    </message>
    <message>
        <source>“%1”</source>
        <translation>“%1”</translation>
    </message>
    <message>
        <source>Nothing was exported: %1 cannot be read.</source>
        <translation>Không xuất được gì: không đọc được %1.</translation>
    </message>
    <message>
        <source>%1. Not in it, because they cannot be read: %2</source>
        <translation>%1. Không có trong đó, vì không đọc được: %2</translation>
    </message>
    <message>
        <source>Move to &amp;folder</source>
        <translation>Chuyển &amp;vào thư mục</translation>
    </message>
    <message>
        <source>&amp;Delete the folder</source>
        <translation>Xóa thư mụ&amp;c</translation>
    </message>
    <message>
        <source>New f&amp;older</source>
        <translation>T&amp;hư mục mới</translation>
    </message>
    <message>
        <source>&amp;None</source>
        <translation>&amp;Không có</translation>
    </message>
    <message>
        <source>Export the folder “%1”</source>
        <translation>Xuất thư mục “%1”</translation>
    </message>
    <message>
        <source>Search</source>
        <translation>Tìm</translation>
    </message>
    <message>
        <source>“%1” was deleted; its conversations stay</source>
        <translation>Đã xóa “%1”; các cuộc trò chuyện vẫn còn</translation>
    </message>
</context>
<context>
    <name>offstage::ui::ConversationListModel</name>
    <message>
        <source>New conversation</source>
        <translation>Cuộc trò chuyện mới</translation>
    </message>
    <message>
        <source>Pinned · %1</source>
        <translation>Đã ghim · %1</translation>
    </message>
    <message>
        <source>Not saved · %1</source>
        <translation>Chưa lưu · %1</translation>
    </message>
    <message>
        <source>Pinned</source>
        <translation>Đã ghim</translation>
    </message>
    <message>
        <source>Today</source>
        <translation>Hôm nay</translation>
    </message>
    <message>
        <source>Yesterday</source>
        <translation>Hôm qua</translation>
    </message>
    <message>
        <source>This week</source>
        <translation>Tuần này</translation>
    </message>
    <message>
        <source>Older</source>
        <translation>Cũ hơn</translation>
    </message>
    <message>
        <source>Thought</source>
        <comment>where a search found something</comment>
        <translation>Suy nghĩ</translation>
    </message>
    <message numerus="yes">
        <source>%1, closed folder, %n conversation(s)</source>
        <translation>
            <numerusform>%1, thư mục đóng, %n cuộc trò chuyện</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%1, folder, %n conversation(s)</source>
        <translation>
            <numerusform>%1, thư mục, %n cuộc trò chuyện</numerusform>
        </translation>
    </message>
    <message>
        <source>Attached file</source>
        <comment>where a search found something</comment>
        <translation>Tệp đính kèm</translation>
    </message>
</context>
<context>
    <name>offstage::ui::ConversationView</name>
    <message>
        <source>Conversation</source>
        <translation>Cuộc trò chuyện</translation>
    </message>
    <message>
        <source>Go to the latest message</source>
        <translation>Đến tin nhắn mới nhất</translation>
    </message>
</context>
<context>
    <name>offstage::ui::ConversationsPage</name>
    <message>
        <source>&amp;Show the last conversation at the start</source>
        <translation>&amp;Hiện cuộc trò chuyện gần nhất khi khởi động</translation>
    </message>
    <message>
        <source>Without it the program begins with a new conversation. The list has the others.</source>
        <translation>Nếu không, chương trình bắt đầu bằng cuộc trò chuyện mới. Các cuộc khác nằm trong danh sách.</translation>
    </message>
    <message>
        <source>Let the model write the &amp;titles</source>
        <translation>Để mô hình viết &amp;tiêu đề</translation>
    </message>
    <message>
        <source>After the first answer, in a few words and seconds. Your next message comes first. A title that you have typed stays. The demo model writes none.</source>
        <translation>Sau câu trả lời đầu tiên, bằng vài từ trong vài giây. Tin nhắn tiếp theo của bạn được ưu tiên. Tiêu đề do bạn gõ được giữ nguyên. Mô hình demo không viết tiêu đề.</translation>
    </message>
</context>
<context>
    <name>offstage::ui::DeviceChoices</name>
    <message numerus="yes">
        <source>%n core(s), %1 RAM</source>
        <translation>
            <numerusform>%n nhân, RAM %1</numerusform>
        </translation>
    </message>
    <message>
        <source>%1, %2 free</source>
        <translation>%1, còn trống %2</translation>
    </message>
    <message>
        <source>; %1 (%2)</source>
        <translation>; %1 (%2)</translation>
    </message>
    <message>
        <source>; no GPU</source>
        <translation>; không có GPU</translation>
    </message>
    <message>
        <source>; no GPU (%1)</source>
        <translation>; không có GPU (%1)</translation>
    </message>
    <message>
        <source>the CPU</source>
        <comment>after on</comment>
        <translation>CPU</translation>
    </message>
    <message>
        <source>%1 (emulated)</source>
        <translation>%1 (giả lập)</translation>
    </message>
    <message>
        <source>%1, laptop</source>
        <translation>%1, máy xách tay</translation>
    </message>
    <message>
        <source>%1, desktop</source>
        <translation>%1, máy bàn</translation>
    </message>
    <message>
        <source>%1 with %2</source>
        <comment>a GPU, the CPU beside it</comment>
        <translation>%1 với %2</translation>
    </message>
    <message>
        <source>8 desktop cores</source>
        <translation>8 nhân máy bàn</translation>
    </message>
    <message>
        <source>4 cloud threads</source>
        <translation>4 luồng đám mây</translation>
    </message>
</context>
<context>
    <name>offstage::ui::DispatchPanel</name>
    <message>
        <source>Previous token of the answer</source>
        <translation>Token trước của câu trả lời</translation>
    </message>
    <message>
        <source>Next token of the answer</source>
        <translation>Token kế tiếp của câu trả lời</translation>
    </message>
    <message>
        <source>The token that is shown</source>
        <translation>Token đang được hiện</translation>
    </message>
    <message>
        <source>This token</source>
        <translation>Token này</translation>
    </message>
    <message>
        <source>Mean of the last %1 tokens</source>
        <translation>Trung bình %1 token gần nhất</translation>
    </message>
    <message>
        <source>Which tokens the bars are of</source>
        <translation>Các thanh là của những token nào</translation>
    </message>
    <message>
        <source>Which tokens the bars are of: the one that is shown, or the mean of the latest</source>
        <translation>Các thanh là của những token nào: token đang được hiện, hoặc trung bình các token gần nhất</translation>
    </message>
    <message>
        <source>Time</source>
        <translation>Thời gian</translation>
    </message>
    <message>
        <source>Tokens</source>
        <translation>Token</translation>
    </message>
    <message>
        <source>What the bars measure</source>
        <translation>Các thanh đo điều gì</translation>
    </message>
    <message>
        <source>Time: how long each side worked on the layer, all at once; beneath it what was predicted.
Tokens: how many calls of experts each side served.</source>
        <translation>Thời gian: mỗi bên làm việc cho lớp đó bao lâu, tất cả cùng lúc; bên dưới là thời gian dự đoán.
Token: mỗi bên phục vụ bao nhiêu lần gọi chuyên gia.</translation>
    </message>
    <message>
        <source>Where each layer&apos;s experts ran</source>
        <translation>Chuyên gia của từng lớp chạy ở đâu</translation>
    </message>
    <message>
        <source>dispatch by layer</source>
        <translation>phân công theo lớp</translation>
    </message>
    <message>
        <source>Timeline of one token</source>
        <translation>Dòng thời gian của một token</translation>
    </message>
    <message>
        <source>token timeline</source>
        <translation>dòng thời gian token</translation>
    </message>
    <message>
        <source>Why experts ran where they ran</source>
        <translation>Vì sao các chuyên gia chạy ở nơi đó</translation>
    </message>
    <message>
        <source>Write a prompt to see where the experts of each layer run, and why.</source>
        <translation>Viết một lời nhắc để xem chuyên gia của từng lớp chạy ở đâu, và vì sao.</translation>
    </message>
    <message>
        <source>Token %1 of %2</source>
        <translation>Token %1/%2</translation>
    </message>
    <message>
        <source>Latest token</source>
        <translation>Token mới nhất</translation>
    </message>
    <message>
        <source>with the prompt&apos;s last %1 tokens</source>
        <translation>cùng %1 token cuối của lời nhắc</translation>
    </message>
    <message>
        <source>no longer kept, for want of memory</source>
        <translation>không còn được giữ vì thiếu bộ nhớ</translation>
    </message>
    <message>
        <source>not written down yet</source>
        <translation>chưa được ghi lại</translation>
    </message>
    <message>
        <source>Click a bar to read why its experts ran there: both costs of the choice.</source>
        <translation>Nhấp vào một thanh để đọc vì sao các chuyên gia của nó chạy ở đó: chi phí của cả hai lựa chọn.</translation>
    </message>
    <message>
        <source>GPU</source>
        <translation>GPU</translation>
    </message>
    <message>
        <source>copy</source>
        <translation>sao chép</translation>
    </message>
    <message>
        <source>CPU</source>
        <translation>CPU</translation>
    </message>
    <message>
        <source>experts</source>
        <translation>chuyên gia</translation>
    </message>
    <message>
        <source>%1 experts</source>
        <translation>%1 chuyên gia</translation>
    </message>
    <message>
        <source>expert %1</source>
        <translation>chuyên gia %1</translation>
    </message>
    <message>
        <source>experts %1</source>
        <translation>các chuyên gia %1</translation>
    </message>
    <message>
        <source>Expert %1 (%2)</source>
        <translation>Chuyên gia %1 (%2)</translation>
    </message>
    <message>
        <source>one token, %1</source>
        <translation>một token, %1</translation>
    </message>
    <message>
        <source>%1 tokens, %2</source>
        <translation>%1 token, %2</translation>
    </message>
    <message>
        <source>%1 was computed on the CPU: there is no accelerator to choose.</source>
        <translation>%1 được tính trên CPU: không có bộ tăng tốc để chọn.</translation>
    </message>
    <message>
        <source>%1 had been brought to the device ahead, on a guess: %2 to compute there, against %3 on the CPU.</source>
        <translation>%1 đã được đưa vào thiết bị từ trước theo phỏng đoán: tính ở đó mất %2, còn trên CPU mất %3.</translation>
    </message>
    <message>
        <source>%1 was on the device: %2 to compute there, against %3 on the CPU.</source>
        <translation>%1 đã ở trên thiết bị: tính ở đó mất %2, còn trên CPU mất %3.</translation>
    </message>
    <message>
        <source>%1 lay %2 and was brought to the device: %3 to copy and %4 to compute there, against %5 on the CPU.</source>
        <translation>%1 nằm %2 và được đưa vào thiết bị: sao chép mất %3 và tính ở đó mất %4, còn trên CPU mất %5.</translation>
    </message>
    <message>
        <source>The policy “transfer” copies whatever is missing.</source>
        <translation>Chính sách “transfer” sao chép mọi thứ còn thiếu.</translation>
    </message>
    <message>
        <source>Alone the CPU would be faster; beside its other work in this layer it is not.</source>
        <translation>Nếu chỉ một mình thì CPU nhanh hơn; cộng với việc khác của CPU trong lớp này thì không.</translation>
    </message>
    <message>
        <source>%1 lay %2 and was computed on the CPU: %3, against %4 to copy it and %5 to compute on the device.</source>
        <translation>%1 nằm %2 và được tính trên CPU: mất %3, còn sao chép mất %4 và tính trên thiết bị mất %5.</translation>
    </message>
    <message>
        <source>The policy “static” computes whatever is missing on the CPU.</source>
        <translation>Chính sách “static” tính trên CPU mọi thứ còn thiếu.</translation>
    </message>
    <message>
        <source>Alone the copy would be faster; side by side with the rest of the layer it is not.</source>
        <translation>Nếu chỉ một mình thì sao chép nhanh hơn; cùng lúc với phần còn lại của lớp thì không.</translation>
    </message>
    <message>
        <source>resident on the GPU</source>
        <translation>có sẵn trên GPU</translation>
    </message>
    <message>
        <source>copied</source>
        <translation>đã sao chép</translation>
    </message>
    <message>
        <source>layer %1</source>
        <translation>lớp %1</translation>
    </message>
    <message>
        <source>copying</source>
        <translation>sao chép</translation>
    </message>
    <message>
        <source>predicted</source>
        <translation>dự đoán</translation>
    </message>
    <message>
        <source>attention and router</source>
        <translation>attention và bộ định tuyến</translation>
    </message>
    <message>
        <source>experts on the GPU</source>
        <translation>chuyên gia trên GPU</translation>
    </message>
    <message>
        <source>experts copied</source>
        <translation>chuyên gia được sao chép</translation>
    </message>
    <message>
        <source>experts on the CPU</source>
        <translation>chuyên gia trên CPU</translation>
    </message>
    <message>
        <source>layer %1: attention and router</source>
        <translation>lớp %1: attention và bộ định tuyến</translation>
    </message>
    <message>
        <source>layer %1: </source>
        <translation>lớp %1: </translation>
    </message>
    <message>
        <source>by the emulated device&apos;s clock</source>
        <translation>theo đồng hồ của thiết bị giả lập</translation>
    </message>
    <message>
        <source>measured</source>
        <translation>đo được</translation>
    </message>
    <message>
        <source>Layer %1: %2 %3.</source>
        <comment>layer, time, how it is known</comment>
        <translation>Lớp %1: %2 %3.</translation>
    </message>
    <message>
        <source>Layer %1, %2: %3 %4, %5 predicted. Policy: %6.</source>
        <comment>layer, side, time, how it is known, time, name</comment>
        <translation>Lớp %1, %2: %3 %4, dự đoán %5. Chính sách: %6.</translation>
    </message>
    <message>
        <source>Layer %1: %2 %3, %4 predicted. Policy: %5.</source>
        <comment>layer, time, how it is known, time, name</comment>
        <translation>Lớp %1: %2 %3, dự đoán %4. Chính sách: %5.</translation>
    </message>
    <message>
        <source>Which experts these were is no longer known.</source>
        <translation>Không còn biết đó là những chuyên gia nào.</translation>
    </message>
    <message>
        <source>Durations are the device&apos;s; where a side begins within its layer is not known.
Outlines are what was predicted. Ctrl and the wheel or + and - zoom, a click says why.</source>
        <translation>Thời lượng là của thiết bị; không biết mỗi bên bắt đầu lúc nào trong lớp của nó.
Đường viền là điều đã dự đoán. Ctrl với con lăn hoặc + và - để phóng to thu nhỏ, nhấp chuột để biết vì sao.</translation>
    </message>
    <message>
        <source>How long each side had nothing to do</source>
        <translation>Mỗi bên rảnh bao lâu</translation>
    </message>
    <message>
        <source>There is no earlier token that is kept</source>
        <translation>Không có token trước đó được giữ</translation>
    </message>
    <message>
        <source>This is the latest token</source>
        <translation>Đây là token mới nhất</translation>
    </message>
    <message>
        <source>Idle: GPU %1, copy engine %2, CPU %3 of the token&apos;s %4.</source>
        <translation>Rảnh: GPU %1, bộ sao chép %2, CPU %3 trong %4 của token.</translation>
    </message>
    <message>
        <source>Skipped: %1 of the neurons.</source>
        <translation>Bỏ đi: %1 số nơ-ron.</translation>
    </message>
    <message>
        <source>Not copied for it: %1.</source>
        <translation>Nhờ đó không chép: %1.</translation>
    </message>
    <message>
        <source>other machines</source>
        <translation>các máy khác</translation>
    </message>
    <message>
        <source>%1 was computed by another machine, which holds it.</source>
        <translation>%1 được một máy khác đang giữ nó tính.</translation>
    </message>
    <message>
        <source>How much of the computing was hidden behind loading</source>
        <translation>Bao nhiêu phần tính toán được che sau việc nạp</translation>
    </message>
    <message>
        <source>Of the tokens that the bars are of, in the mean. Loading: the copy engine brings experts to the device, asked for or guessed.
Computing: the device computes attention or experts, or the CPU experts, or both. What both share is hidden: a token takes
loading and computing less that time, as in CORM&apos;s table 3. Measured by the device&apos;s events and the host&apos;s clock.</source>
        <translation>Trung bình trên các token mà các thanh thể hiện. Nạp: bộ sao chép đưa chuyên gia tới thiết bị, do được yêu cầu hoặc do phỏng đoán.
Tính: thiết bị tính attention hoặc chuyên gia, hoặc CPU tính chuyên gia, hoặc cả hai. Phần trùng nhau là phần được che: một token mất
thời gian nạp cộng thời gian tính trừ đi phần đó, như bảng 3 của CORM. Đo bằng các sự kiện của thiết bị và đồng hồ của máy.</translation>
    </message>
    <message>
        <source>On the CPU alone no expert is loaded to a device, so that no computing is hidden behind loading.</source>
        <translation>Khi chỉ dùng CPU, không chuyên gia nào được nạp tới thiết bị, nên không có phần tính toán nào được che sau việc nạp.</translation>
    </message>
    <message>
        <source>Hidden: %1 of the computing behind loading, %2 of the loading behind computing. Loading %3, computing %4, both at once %5.</source>
        <comment>share, share, time, time, time</comment>
        <translation>Được che: %1 phần tính sau phần nạp, %2 phần nạp sau phần tính. Nạp %3, tính %4, cùng lúc %5.</translation>
    </message>
    <message>
        <source>Loading %1, computing %2, both at once %3.</source>
        <comment>time, time, time</comment>
        <translation>Nạp %1, tính %2, cùng lúc %3.</translation>
    </message>
</context>
<context>
    <name>offstage::ui::DownloadQueue</name>
    <message>
        <source>waits</source>
        <translation>đang chờ</translation>
    </message>
    <message>
        <source>%1/s</source>
        <translation>%1/s</translation>
    </message>
    <message>
        <source>begins</source>
        <translation>bắt đầu</translation>
    </message>
    <message>
        <source>is checked</source>
        <translation>đang kiểm tra</translation>
    </message>
    <message>
        <source>paused</source>
        <translation>tạm dừng</translation>
    </message>
    <message>
        <source>done</source>
        <translation>xong</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>Mô hình</translation>
    </message>
    <message>
        <source>Got</source>
        <translation>Đã tải</translation>
    </message>
    <message>
        <source>State</source>
        <translation>Trạng thái</translation>
    </message>
    <message>
        <source>%1 of %2</source>
        <translation>%1/%2</translation>
    </message>
</context>
<context>
    <name>offstage::ui::DownloadsDialog</name>
    <message>
        <source>Does not fit here: %1</source>
        <translation>Không vừa với máy này: %1</translation>
    </message>
    <message>
        <source>Takes %1 of the GPU&apos;s memory and %2 of RAM here.</source>
        <translation>Ở đây chiếm %1 bộ nhớ GPU và %2 RAM.</translation>
    </message>
    <message>
        <source>Takes %1 of RAM here.</source>
        <translation>Ở đây chiếm %1 RAM.</translation>
    </message>
    <message numerus="yes">
        <source>%n expert(s) would be read from the disk.</source>
        <translation>
            <numerusform>%n chuyên gia sẽ được đọc từ đĩa.</numerusform>
        </translation>
    </message>
    <message>
        <source>Forecast: %1 tokens/s, first token of a short prompt after %2.</source>
        <translation>Dự báo: %1 token/s, token đầu của một câu hỏi ngắn sau %2.</translation>
    </message>
    <message>
        <source>Its speed is known once “Measure speeds” was pressed for such models.</source>
        <translation>Tốc độ sẽ có sau khi nhấn “Đo tốc độ” cho loại mô hình này.</translation>
    </message>
    <message>
        <source>The file</source>
        <translation>Tệp</translation>
    </message>
    <message>
        <source>&amp;Download</source>
        <translation>&amp;Tải về</translation>
    </message>
    <message>
        <source>&amp;Pause</source>
        <translation>Tạm &amp;dừng</translation>
    </message>
    <message>
        <source>Re&amp;move</source>
        <translation>&amp;Xóa</translation>
    </message>
    <message>
        <source>&amp;Open</source>
        <translation>&amp;Mở</translation>
    </message>
    <message>
        <source>Downloads</source>
        <translation>Tải về</translation>
    </message>
    <message>
        <source>Removes what has come of a download that is not done; a model that is done stays</source>
        <translation>Xóa phần đã tải của một lượt tải chưa xong; mô hình đã xong vẫn ở lại</translation>
    </message>
    <message>
        <source>Models come into the cache of Hugging Face, where other programs find them too. Downloads go on after a start of the program when you resume them.</source>
        <translation>Mô hình vào bộ đệm của Hugging Face, nơi chương trình khác cũng tìm thấy. Sau khi khởi động lại, việc tải chỉ tiếp tục khi bạn cho tiếp tục.</translation>
    </message>
    <message>
        <source>%1
Reading its headers…</source>
        <translation>%1
Đang đọc phần đầu tệp…</translation>
    </message>
    <message>
        <source>%1 from %2 to %3.</source>
        <translation>%1 từ %2 vào %3.</translation>
    </message>
    <message>
        <source>The disk there lacks %1.</source>
        <translation>Đĩa ở đó thiếu %1.</translation>
    </message>
    <message>
        <source>&amp;Resume</source>
        <translation>Tiế&amp;p tục</translation>
    </message>
    <message>
        <source>Remove a download</source>
        <translation>Bỏ một lượt tải</translation>
    </message>
    <message>
        <source>Remove %1?</source>
        <translation>Bỏ %1?</translation>
    </message>
    <message>
        <source>%1 of it have come and are deleted. Paused, it keeps them.</source>
        <translation>Đã có %1 và sẽ bị xóa. Nếu tạm dừng, phần này được giữ lại.</translation>
    </message>
    <message>
        <source>Remove</source>
        <translation>Bỏ</translation>
    </message>
    <message>
        <source>&amp;Look</source>
        <translation>&amp;Xem</translation>
    </message>
    <message>
        <source>Choose a model in “What runs here”, or name a repository of the hub.</source>
        <translation>Hãy chọn một mô hình trong “Cái gì chạy được ở đây”, hoặc ghi tên một kho của hub.</translation>
    </message>
    <message>
        <source>OWNER/NAME, OWNER/NAME:Q4_K_M or the address of a page or file</source>
        <translation>CHỦ/TÊN, CHỦ/TÊN:Q4_K_M hoặc địa chỉ của một trang hay tệp</translation>
    </message>
    <message>
        <source>Reads this file&apos;s headers where it is published and shows what it would take here; nothing is downloaded before you say so</source>
        <translation>Đọc phần đầu của tệp này ở nơi công bố và cho biết nó cần gì ở đây; không tải gì về trước khi bạn yêu cầu</translation>
    </message>
    <message>
        <source>Reposi&amp;tory:</source>
        <translation>Kho &amp;lưu:</translation>
    </message>
</context>
<context>
    <name>offstage::ui::DraftAttachments</name>
    <message>
        <source>%1 was not attached: a message can have %2 files.</source>
        <translation>%1 không được đính kèm: một tin nhắn có thể có %2 tệp.</translation>
    </message>
    <message>
        <source>%1 is attached already.</source>
        <translation>%1 đã được đính kèm.</translation>
    </message>
    <message numerus="yes">
        <source>%n more files were not attached.</source>
        <translation>
            <numerusform>Còn %n tệp nữa không được đính kèm.</numerusform>
        </translation>
    </message>
    <message>
        <source>Attach files</source>
        <translation>Đính kèm tệp</translation>
    </message>
    <message>
        <source>%1 · %2 tokens</source>
        <translation>%1 · %2 token</translation>
    </message>
    <message>
        <source>Reading files…</source>
        <translation>Đang đọc tệp…</translation>
    </message>
    <message>
        <source>Reading %1: page %2 of %3</source>
        <translation>Đang đọc %1: trang %2 trên %3</translation>
    </message>
    <message>
        <source>Pasted text</source>
        <translation>Văn bản đã dán</translation>
    </message>
    <message>
        <source>Too long by %1 tokens: with these files and the first token of an answer the conversation takes %2, and the context holds %3. Remove a file, or attach a part of it.</source>
        <translation>Dài quá %1 token: cùng các tệp này và token đầu tiên của câu trả lời, cuộc trò chuyện cần %2, còn ngữ cảnh chứa được %3. Hãy bỏ bớt một tệp hoặc chỉ đính kèm một phần.</translation>
    </message>
    <message>
        <source>Too long by %1 tokens: with this text and the first token of an answer the conversation takes %2, and the context holds %3. Shorten it.</source>
        <translation>Dài hơn %1 token: với văn bản này và token đầu tiên của câu trả lời, cuộc trò chuyện cần %2, còn ngữ cảnh chứa được %3. Hãy rút ngắn nó.</translation>
    </message>
</context>
<context>
    <name>offstage::ui::DropTarget</name>
    <message>
        <source>Drop to open %1</source>
        <translation>Thả để mở %1</translation>
    </message>
    <message>
        <source>Drop to attach %1</source>
        <translation>Thả để đính kèm %1</translation>
    </message>
    <message numerus="yes">
        <source>Drop to attach %n files</source>
        <translation>
            <numerusform>Thả để đính kèm %n tệp</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>offstage::ui::EmptyState</name>
    <message>
        <source>Open model…</source>
        <translation>Mở mô hình…</translation>
    </message>
    <message>
        <source>Open a model</source>
        <translation>Mở một mô hình</translation>
    </message>
    <message>
        <source>Try a small emulated GPU</source>
        <translation>Thử một GPU giả lập nhỏ</translation>
    </message>
    <message>
        <source>Opens the model again on an emulated GPU whose memory is too small for it</source>
        <translation>Mở lại mô hình trên một GPU giả lập có bộ nhớ quá nhỏ cho nó</translation>
    </message>
    <message>
        <source>About this program</source>
        <translation>Về chương trình này</translation>
    </message>
    <message>
        <source>The tabs at the right edge show what goes on inside: experts, memory, speed. To chat you need none of them.</source>
        <translation>Các thẻ ở mép phải cho thấy điều diễn ra bên trong: chuyên gia, bộ nhớ, tốc độ. Để trò chuyện, bạn không cần thẻ nào.</translation>
    </message>
    <message>
        <source>Do not show this again</source>
        <translation>Không hiện lại nữa</translation>
    </message>
    <message>
        <source>What runs here…</source>
        <translation>Cái gì chạy được ở đây…</translation>
    </message>
    <message>
        <source>Models of today, how fast they would be on this computer, and how to get them</source>
        <translation>Các mô hình hiện nay, tốc độ của chúng trên máy này, và cách tải về</translation>
    </message>
</context>
<context>
    <name>offstage::ui::EngineWorker</name>
    <message>
        <source>There is not enough free memory for this.</source>
        <translation>Không đủ bộ nhớ trống cho việc này.</translation>
    </message>
    <message>
        <source>Something unexpected happened inside the engine.</source>
        <translation>Có điều bất ngờ đã xảy ra trong bộ máy.</translation>
    </message>
</context>
<context>
    <name>offstage::ui::EventLog</name>
    <message>
        <source>Connection to %1: %2</source>
        <translation>Kết nối đến %1: %2</translation>
    </message>
    <message>
        <source>Loading %1</source>
        <translation>Đang nạp %1</translation>
    </message>
    <message>
        <source>%1 is loaded in %2</source>
        <translation>Đã nạp %1 trong %2</translation>
    </message>
    <message>
        <source>device %1, %2 of %3 experts on it, context %4</source>
        <translation>thiết bị %1, có %2/%3 chuyên gia trên đó, ngữ cảnh %4</translation>
    </message>
    <message>
        <source>%1: %2</source>
        <translation>%1: %2</translation>
    </message>
    <message>
        <source>Re-plan %1 was asked for</source>
        <translation>Đã yêu cầu đổi phương án lần %1</translation>
    </message>
    <message>
        <source>Time</source>
        <translation>Thời điểm</translation>
    </message>
    <message>
        <source>Kind</source>
        <translation>Loại</translation>
    </message>
    <message>
        <source>What happened</source>
        <translation>Điều đã xảy ra</translation>
    </message>
</context>
<context>
    <name>offstage::ui::ExpertActions</name>
    <message>
        <source>&amp;Unpin</source>
        <translation>Bỏ &amp;ghim</translation>
    </message>
    <message>
        <source>&amp;Pin to the device</source>
        <translation>&amp;Ghim vào thiết bị</translation>
    </message>
    <message>
        <source>&amp;Evict from the device</source>
        <translation>Đư&amp;a ra khỏi thiết bị</translation>
    </message>
    <message>
        <source>P&amp;recision</source>
        <translation>Định dạng &amp;số</translation>
    </message>
    <message>
        <source>Pinning layer %1, expert %2…</source>
        <translation>Đang ghim lớp %1, chuyên gia %2…</translation>
    </message>
    <message>
        <source>Layer %1, expert %2 is pinned to the device.</source>
        <translation>Lớp %1, chuyên gia %2 đã được ghim vào thiết bị.</translation>
    </message>
    <message>
        <source>Unpinning layer %1, expert %2…</source>
        <translation>Đang bỏ ghim lớp %1, chuyên gia %2…</translation>
    </message>
    <message>
        <source>Layer %1, expert %2 is no longer pinned.</source>
        <translation>Lớp %1, chuyên gia %2 không còn được ghim.</translation>
    </message>
    <message>
        <source>Taking layer %1, expert %2 off the device…</source>
        <translation>Đang đưa lớp %1, chuyên gia %2 ra khỏi thiết bị…</translation>
    </message>
    <message>
        <source>Layer %1, expert %2 has left the device.</source>
        <translation>Lớp %1, chuyên gia %2 đã rời thiết bị.</translation>
    </message>
    <message>
        <source>Experts cannot be changed at the moment: no model is loaded.</source>
        <translation>Lúc này không thể thay đổi chuyên gia: chưa nạp mô hình nào.</translation>
    </message>
    <message>
        <source>The change was cancelled; everything is as before.</source>
        <translation>Thay đổi đã bị hủy; mọi thứ vẫn như trước.</translation>
    </message>
    <message>
        <source>A later change took the place of this one.</source>
        <translation>Một thay đổi sau đó đã thế chỗ thay đổi này.</translation>
    </message>
    <message>
        <source>The change could not be made.</source>
        <translation>Không thực hiện được thay đổi.</translation>
    </message>
    <message>
        <source>The cache may take the place on the device again</source>
        <translation>Bộ nhớ đệm có thể lấy lại chỗ trên thiết bị</translation>
    </message>
    <message>
        <source>Brings to the device and keeps there, whatever the cache says</source>
        <translation>Đưa lên thiết bị và giữ ở đó, bất kể bộ nhớ đệm</translation>
    </message>
    <message>
        <source>Lets go; what leaves the device stays in RAM or on disk</source>
        <translation>Giải phóng; những gì rời thiết bị vẫn ở trong RAM hoặc trên đĩa</translation>
    </message>
    <message>
        <source>Changing layer %1, expert %2 to %3…</source>
        <translation>Đang đổi lớp %1, chuyên gia %2 sang %3…</translation>
    </message>
    <message>
        <source>Layer %1, expert %2 is kept in %3.</source>
        <translation>Lớp %1, chuyên gia %2 được giữ ở dạng %3.</translation>
    </message>
    <message>
        <source>&amp;Pin %1 experts to the device</source>
        <translation>&amp;Ghim %1 chuyên gia vào thiết bị</translation>
    </message>
    <message>
        <source>&amp;Unpin %1 experts</source>
        <translation>&amp;Bỏ ghim %1 chuyên gia</translation>
    </message>
    <message>
        <source>&amp;Evict %1 experts from the device</source>
        <translation>Đư&amp;a %1 chuyên gia khỏi thiết bị</translation>
    </message>
    <message>
        <source>P&amp;recision of %1 experts</source>
        <translation>Độ &amp;chính xác của %1 chuyên gia</translation>
    </message>
    <message>
        <source>Pinning %1 experts…</source>
        <translation>Đang ghim %1 chuyên gia…</translation>
    </message>
    <message>
        <source>%1 experts are pinned.</source>
        <translation>%1 chuyên gia đã được ghim.</translation>
    </message>
    <message>
        <source>Unpinning %1 experts…</source>
        <translation>Đang bỏ ghim %1 chuyên gia…</translation>
    </message>
    <message>
        <source>%1 experts are no longer pinned.</source>
        <translation>%1 chuyên gia không còn được ghim.</translation>
    </message>
    <message>
        <source>Taking %1 experts off the device…</source>
        <translation>Đang đưa %1 chuyên gia khỏi thiết bị…</translation>
    </message>
    <message>
        <source>%1 experts have left the device.</source>
        <translation>%1 chuyên gia đã rời thiết bị.</translation>
    </message>
    <message>
        <source>Changing %1 experts to %2…</source>
        <translation>Đang đổi %1 chuyên gia sang %2…</translation>
    </message>
    <message>
        <source>%1 experts are kept in %2.</source>
        <translation>%1 chuyên gia được giữ ở dạng %2.</translation>
    </message>
    <message>
        <source>%1 of them found no room there.</source>
        <translation>%1 trong số đó không còn chỗ ở đó.</translation>
    </message>
    <message>
        <source>&amp;As in the file: %1</source>
        <translation>&amp;Như trong tệp: %1</translation>
    </message>
    <message>
        <source>No model is ready to be changed now</source>
        <translation>Hiện không có mô hình nào sẵn sàng để thay đổi</translation>
    </message>
    <message>
        <source>The model runs on the CPU: there is no device to bring experts to</source>
        <translation>Mô hình chạy trên CPU: không có thiết bị để đưa chuyên gia tới</translation>
    </message>
    <message>
        <source>None of these is on the device</source>
        <translation>Không có cái nào trên thiết bị</translation>
    </message>
    <message>
        <source>The number format that these are kept in</source>
        <translation>Định dạng số dùng để giữ các chuyên gia này</translation>
    </message>
    <message>
        <source>Going back…</source>
        <translation>Đang quay lại…</translation>
    </message>
    <message>
        <source>Pin %1 experts: %2 of them are copied to the device, about %3, and others leave it where there is no room.</source>
        <translation>Ghim %1 chuyên gia: %2 trong số đó được chép lên thiết bị, khoảng %3; các chuyên gia khác rời đi nếu không đủ chỗ.</translation>
    </message>
    <message>
        <source>Unpin %1 experts: the cache may give their places to others.</source>
        <translation>Bỏ ghim %1 chuyên gia: bộ đệm có thể trao chỗ của chúng cho chuyên gia khác.</translation>
    </message>
    <message>
        <source>Take %1 experts off the device: %2 are there, about %3.</source>
        <translation>Đưa %1 chuyên gia ra khỏi thiết bị: %2 đang ở đó, khoảng %3.</translation>
    </message>
    <message>
        <source>Keep %1 experts in %2: about %3 instead of %4. Answers change.</source>
        <translation>Giữ %1 chuyên gia ở %2: khoảng %3 thay vì %4. Câu trả lời thay đổi.</translation>
    </message>
    <message>
        <source>The expert is as before.</source>
        <translation>Chuyên gia như trước.</translation>
    </message>
    <message>
        <source>%1 experts are as before.</source>
        <translation>%1 chuyên gia như trước.</translation>
    </message>
    <message>
        <source>Pin %1 experts: %2 are on the device, and it has places for %3 more of them, about %4.</source>
        <translation>Ghim %1 chuyên gia: %2 đã ở trên thiết bị, và ở đó còn chỗ cho thêm %3 trong số đó, khoảng %4.</translation>
    </message>
</context>
<context>
    <name>offstage::ui::ExpertUsePlot</name>
    <message>
        <source>found on the device</source>
        <translation>có sẵn trên thiết bị</translation>
    </message>
    <message>
        <source>copied to the device</source>
        <translation>được sao chép tới thiết bị</translation>
    </message>
    <message>
        <source>computed on the CPU</source>
        <translation>được tính trên CPU</translation>
    </message>
    <message>
        <source>computed by another machine</source>
        <translation>được một máy khác tính</translation>
    </message>
    <message>
        <source>not called</source>
        <translation>không được gọi</translation>
    </message>
    <message>
        <source>step</source>
        <translation>bước</translation>
    </message>
    <message>
        <source>expert</source>
        <translation>chuyên gia</translation>
    </message>
    <message>
        <source>prompt, %1 tokens</source>
        <translation>lời nhắc, %1 token</translation>
    </message>
    <message>
        <source>step %1</source>
        <translation>bước %1</translation>
    </message>
    <message>
        <source>“%1”</source>
        <translation>“%1”</translation>
    </message>
    <message>
        <source>layer %1, expert %2: %3</source>
        <comment>number, number, what became of it</comment>
        <translation>lớp %1, chuyên gia %2: %3</translation>
    </message>
    <message>
        <source>Save picture as S&amp;VG…</source>
        <translation>Lưu hình thành S&amp;VG…</translation>
    </message>
    <message>
        <source>Save picture as SVG</source>
        <translation>Lưu hình thành SVG</translation>
    </message>
    <message>
        <source>SVG picture (*.svg)</source>
        <translation>Hình SVG (*.svg)</translation>
    </message>
    <message>
        <source>%1: experts over tokens</source>
        <translation>%1: chuyên gia theo token</translation>
    </message>
    <message>
        <source>layer %1</source>
        <translation>lớp %1</translation>
    </message>
    <message>
        <source>steps %1 to %2; experts from top to bottom</source>
        <translation>bước %1 đến %2; chuyên gia từ trên xuống dưới</translation>
    </message>
</context>
<context>
    <name>offstage::ui::ExpertsPanel</name>
    <message>
        <source>Show</source>
        <translation>Hiện</translation>
    </message>
    <message>
        <source>layers</source>
        <translation>lớp</translation>
    </message>
    <message>
        <source>experts</source>
        <translation>chuyên gia</translation>
    </message>
    <message>
        <source>When the model reads or writes, this shows which experts its router calls.</source>
        <translation>Khi mô hình đọc hoặc viết, đây sẽ cho thấy bộ định tuyến của nó gọi những chuyên gia nào.</translation>
    </message>
    <message>
        <source>Expert heat map</source>
        <translation>Bản đồ nhiệt của chuyên gia</translation>
    </message>
    <message>
        <source>Numbers of the chosen expert</source>
        <translation>Số liệu của chuyên gia đã chọn</translation>
    </message>
    <message>
        <source>even use:</source>
        <translation>dùng đều:</translation>
    </message>
    <message>
        <source>%1 steps ago:</source>
        <translation>cách đây %1 bước:</translation>
    </message>
    <message>
        <source>on the device</source>
        <translation>trên thiết bị</translation>
    </message>
    <message>
        <source>G</source>
        <comment>glyph: on the GPU</comment>
        <translation>G</translation>
    </message>
    <message>
        <source>on the device, pinned</source>
        <translation>trên thiết bị, đã ghim</translation>
    </message>
    <message>
        <source>P</source>
        <comment>glyph: pinned</comment>
        <translation>P</translation>
    </message>
    <message>
        <source>in RAM</source>
        <translation>trong RAM</translation>
    </message>
    <message>
        <source>R</source>
        <comment>glyph: in RAM</comment>
        <translation>R</translation>
    </message>
    <message>
        <source>on disk</source>
        <translation>trên đĩa</translation>
    </message>
    <message>
        <source>D</source>
        <comment>glyph: on disk</comment>
        <translation>Đ</translation>
    </message>
    <message>
        <source>all experts:</source>
        <translation>mọi chuyên gia:</translation>
    </message>
    <message>
        <source>Frequency: planned</source>
        <translation>Tần suất: theo phương án</translation>
    </message>
    <message>
        <source>Recency</source>
        <translation>Lần gọi gần nhất</translation>
    </message>
    <message>
        <source>Residency</source>
        <translation>Nơi lưu</translation>
    </message>
    <message>
        <source>Precision</source>
        <translation>Định dạng số</translation>
    </message>
    <message>
        <source>Hit rate</source>
        <translation>Tỷ lệ trúng</translation>
    </message>
    <message>
        <source>Share of tokens that the placement of experts was planned with.</source>
        <translation>Tỷ lệ token đã dùng khi lập phương án xếp chỗ cho chuyên gia.</translation>
    </message>
    <message>
        <source>How long ago each expert was called: 100 % in the last step, 0 % not within %1 steps.</source>
        <translation>Mỗi chuyên gia được gọi cách đây bao lâu: 100 % là ở bước vừa rồi, 0 % là không được gọi trong vòng %1 bước.</translation>
    </message>
    <message>
        <source>The fastest memory that holds a copy of each expert.</source>
        <translation>Bộ nhớ nhanh nhất đang giữ một bản của từng chuyên gia.</translation>
    </message>
    <message>
        <source>The number format in which each expert is kept.</source>
        <translation>Định dạng số dùng để lưu từng chuyên gia.</translation>
    </message>
    <message>
        <source>Layer %1, expert %2</source>
        <translation>Lớp %1, chuyên gia %2</translation>
    </message>
    <message>
        <source>pinned</source>
        <translation>đã ghim</translation>
    </message>
    <message>
        <source>%1 of %2 tokens: %3 of this layer&apos;s tokens</source>
        <translation>%1/%2 token: %3 số token của lớp này</translation>
    </message>
    <message>
        <source>Even use would be %1</source>
        <translation>Nếu dùng đều thì là %1</translation>
    </message>
    <message>
        <source>planned: %1</source>
        <translation>theo phương án: %1</translation>
    </message>
    <message>
        <source>Planned: %1 of this layer&apos;s tokens</source>
        <translation>Theo phương án: %1 số token của lớp này</translation>
    </message>
    <message>
        <source>Not called since the model was loaded</source>
        <translation>Chưa được gọi từ khi nạp mô hình</translation>
    </message>
    <message>
        <source>Tokens since loading: %1</source>
        <translation>Số token từ khi nạp: %1</translation>
    </message>
    <message>
        <source>hit rate %1</source>
        <translation>tỷ lệ trúng %1</translation>
    </message>
    <message>
        <source>called in the last step</source>
        <translation>được gọi ở bước vừa rồi</translation>
    </message>
    <message>
        <source>called one step before the last</source>
        <translation>được gọi ở bước trước bước vừa rồi</translation>
    </message>
    <message>
        <source>called %1 steps before the last</source>
        <translation>được gọi %1 bước trước bước vừa rồi</translation>
    </message>
    <message>
        <source>What is shown of each expert</source>
        <translation>Điều được hiện cho từng chuyên gia</translation>
    </message>
    <message>
        <source>Shows experts that were not called lately in a faint colour</source>
        <translation>Hiện bằng màu nhạt các chuyên gia lâu chưa được gọi</translation>
    </message>
    <message>
        <source>Change</source>
        <translation>Thay đổi</translation>
    </message>
    <message>
        <source>Open a model to see its experts.</source>
        <translation>Mở một mô hình để xem các chuyên gia của nó.</translation>
    </message>
    <message>
        <source>The experts were placed without knowing how popular they are.</source>
        <translation>Các chuyên gia được xếp chỗ mà chưa biết chuyên gia nào hay được dùng.</translation>
    </message>
    <message>
        <source>%1: %2</source>
        <comment>legend: kind of experts, how many</comment>
        <translation>%1: %2</translation>
    </message>
    <message>
        <source>The model runs on the CPU: there is no accelerator to bring experts to.</source>
        <translation>Mô hình chạy trên CPU: không có bộ tăng tốc để đưa chuyên gia vào.</translation>
    </message>
    <message>
        <source>Ringed: the experts that the selected token called.</source>
        <translation>Ô có viền: những chuyên gia mà token đã chọn gọi đến.</translation>
    </message>
    <message>
        <source>The selected token was written by the step that read the prompt, all its tokens at once: which of them called which expert is not known.</source>
        <translation>Token đã chọn được viết ở bước đọc lời nhắc, bước này xử lý mọi token cùng lúc: không biết token nào đã gọi chuyên gia nào.</translation>
    </message>
    <message>
        <source>Selected; no token in the chat called it</source>
        <translation>Đã chọn; không có token nào trong cuộc trò chuyện gọi đến chuyên gia này</translation>
    </message>
    <message>
        <source>Pin, evict or change the precision of the selected experts</source>
        <translation>Ghim, đưa khỏi thiết bị hoặc đổi độ chính xác của các chuyên gia đã chọn</translation>
    </message>
    <message>
        <source>Change the selected experts</source>
        <translation>Thay đổi các chuyên gia đã chọn</translation>
    </message>
    <message>
        <source>Layers by experts. Arrow keys move from cell to cell, Return selects an expert, the menu key changes it. Shift and the arrow keys mark several, Shift and Space the layer, Control and Space the column.</source>
        <translation>Các lớp theo chuyên gia. Phím mũi tên đi từ ô này sang ô khác, Return chọn một chuyên gia, phím trình đơn thay đổi nó. Shift và phím mũi tên đánh dấu nhiều ô, Shift và phím cách đánh dấu lớp, Control và phím cách đánh dấu cột.</translation>
    </message>
    <message>
        <source>Point at a cell for its numbers; drag to mark several, click a number for its layer or column.</source>
        <translation>Trỏ vào một ô để xem số liệu; kéo để đánh dấu nhiều ô, nhấp vào một số để đánh dấu lớp hoặc cột của nó.</translation>
    </message>
    <message>
        <source>%1 %2</source>
        <comment>how many experts, where they are or in what</comment>
        <translation>%1 %2</translation>
    </message>
    <message>
        <source>Click an expert first, or drag to mark several</source>
        <translation>Trước hết hãy bấm một chuyên gia, hoặc kéo để chọn nhiều</translation>
    </message>
    <message>
        <source>all layers:</source>
        <translation>mọi lớp:</translation>
    </message>
    <message>
        <source>Active neurons</source>
        <translation>Nơ-ron hoạt động</translation>
    </message>
    <message>
        <source>Share of the neurons that were not skipped in the last steps, counted for each layer&apos;s experts together.</source>
        <translation>Tỉ lệ nơ-ron không bị bỏ qua trong các bước gần nhất, đếm chung cho các chuyên gia của mỗi lớp.</translation>
    </message>
    <message>
        <source>All neurons are computed. The Budget panel can skip those near zero.</source>
        <translation>Mọi nơ-ron đều được tính. Bảng Ngân sách có thể bỏ qua các nơ-ron gần bằng không.</translation>
    </message>
    <message>
        <source>this machine alone</source>
        <translation>chỉ máy này</translation>
    </message>
    <message>
        <source>several machines</source>
        <translation>nhiều máy</translation>
    </message>
    <message>
        <source>+</source>
        <comment>glyph: on several machines</comment>
        <translation>+</translation>
    </message>
    <message>
        <source>Machine</source>
        <translation>Máy</translation>
    </message>
    <message>
        <source>Held by %1, too</source>
        <translation>Cũng có trên %1</translation>
    </message>
    <message>
        <source>Of residency, precision and machines alone: other colours are amounts</source>
        <translation>Chỉ với nơi lưu, độ chính xác và máy: các màu khác là số lượng</translation>
    </message>
    <message>
        <source>No other machine helps. The Machines panel adds one.</source>
        <translation>Không có máy nào khác giúp. Bảng Máy dùng để thêm máy.</translation>
    </message>
    <message>
        <source>this machine</source>
        <translation>máy này</translation>
    </message>
    <message>
        <source>Which other machines hold each expert beside this one and can compute it; where every machine makes each step, which one computes it.</source>
        <translation>Ngoài máy này, những máy nào giữ từng chuyên gia và tính được nó; khi mọi máy thực hiện từng bước thì máy nào tính nó.</translation>
    </message>
    <message>
        <source>Computed by this machine in every step</source>
        <translation>Máy này tính trong mọi bước</translation>
    </message>
    <message>
        <source>Computed by %1 in every step</source>
        <translation>%1 tính trong mọi bước</translation>
    </message>
    <message>
        <source>Colour: %1</source>
        <comment>title of a picture</comment>
        <translation>Màu: %1</translation>
    </message>
    <message>
        <source>Dim unused</source>
        <translation>Làm mờ phần không dùng</translation>
    </message>
    <message>
        <source>Apply</source>
        <translation>Áp dụng</translation>
    </message>
    <message>
        <source>Discard</source>
        <translation>Bỏ</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>Hoàn tác</translation>
    </message>
    <message>
        <source>Dim experts that were not called lately</source>
        <translation>Làm mờ các chuyên gia lâu không được gọi</translation>
    </message>
    <message>
        <source>other bits</source>
        <comment>sign: by the user</comment>
        <translation>số bit khác</translation>
    </message>
    <message>
        <source>pinned</source>
        <comment>sign</comment>
        <translation>đã ghim</translation>
    </message>
    <message>
        <source>taken off</source>
        <comment>sign: the device</comment>
        <translation>đã gỡ ra</translation>
    </message>
    <message>
        <source>Carry this out in the background; the conversation goes on meanwhile</source>
        <translation>Thực hiện ngầm; cuộc trò chuyện vẫn tiếp tục</translation>
    </message>
    <message>
        <source>Changes of several experts are shown first, and wait for this</source>
        <translation>Thay đổi của nhiều chuyên gia được hiển thị trước và chờ nút này</translation>
    </message>
    <message>
        <source>Leave these experts as they are</source>
        <translation>Giữ nguyên các chuyên gia này</translation>
    </message>
    <message>
        <source>There is nothing to discard</source>
        <translation>Không có gì để bỏ</translation>
    </message>
    <message>
        <source>Go back to the state before the last change of experts</source>
        <translation>Quay lại trạng thái trước lần thay đổi chuyên gia cuối cùng</translation>
    </message>
    <message>
        <source>No experts were changed yet</source>
        <translation>Chưa có chuyên gia nào bị thay đổi</translation>
    </message>
    <message>
        <source>End of the colour scale</source>
        <translation>Đầu trên của thang màu</translation>
    </message>
    <message>
        <source>highest</source>
        <translation>cao nhất</translation>
    </message>
    <message>
        <source>Scale up to</source>
        <translation>Thang đến</translation>
    </message>
    <message>
        <source>The value that has the last colour. With a fixed one, pictures of different moments and models can be compared; higher values look like it</source>
        <translation>Giá trị có màu cuối. Với một giá trị cố định có thể so sánh hình ở những lúc và mô hình khác nhau; giá trị cao hơn trông giống nó</translation>
    </message>
    <message>
        <source>Of how often experts are called alone: other amounts always end at 100 %</source>
        <translation>Chỉ cho tần suất gọi chuyên gia: các lượng khác luôn kết thúc ở 100 %</translation>
    </message>
    <message>
        <source>fixed scale up to %1</source>
        <translation>thang cố định đến %1</translation>
    </message>
    <message>
        <source>scale up to the highest value</source>
        <translation>thang đến giá trị cao nhất</translation>
    </message>
    <message>
        <source>Frequency: latest tokens</source>
        <translation>Tần suất: token mới nhất</translation>
    </message>
    <message>
        <source>Frequency: from the start</source>
        <translation>Tần suất: từ đầu</translation>
    </message>
    <message>
        <source>Share of the latest tokens, at most %1 of prompt and answer, that the router sent to each expert.</source>
        <translation>Tỷ lệ các token mới nhất, nhiều nhất %1 token của lời nhắc và câu trả lời, mà bộ định tuyến đã gửi đến từng chuyên gia.</translation>
    </message>
    <message>
        <source>Share of all tokens that the router sent to each expert, since what the panel names (a conversation, a benchmark) began.</source>
        <translation>Tỷ lệ mọi token mà bộ định tuyến đã gửi đến từng chuyên gia, từ khi bắt đầu điều mà bảng nêu tên (một cuộc trò chuyện, một phép đo).</translation>
    </message>
    <message>
        <source>Share of each expert&apos;s tokens, since the model was loaded and prompts included, that found it on the device.</source>
        <translation>Tỷ lệ token của từng chuyên gia, từ khi nạp mô hình và kể cả lời nhắc, tìm thấy nó trên thiết bị.</translation>
    </message>
    <message numerus="yes">
        <source>Marked: %1, %2: %n expert(s)</source>
        <comment>layers, experts</comment>
        <translation>
            <numerusform>Đã đánh dấu: %1, %2: %n chuyên gia</numerusform>
        </translation>
    </message>
    <message>
        <source>layer %1</source>
        <translation>lớp %1</translation>
    </message>
    <message>
        <source>layers %1</source>
        <translation>các lớp %1</translation>
    </message>
    <message>
        <source>expert %1</source>
        <translation>chuyên gia %1</translation>
    </message>
    <message>
        <source>experts %1</source>
        <translation>các chuyên gia %1</translation>
    </message>
    <message>
        <source>layer</source>
        <translation>lớp</translation>
    </message>
    <message>
        <source>expert</source>
        <translation>chuyên gia</translation>
    </message>
    <message numerus="yes">
        <source>Selected; underlined in the chat: %n place(s)</source>
        <translation>
            <numerusform>Đã chọn; gạch chân trong cuộc trò chuyện: %n chỗ</numerusform>
        </translation>
    </message>
    <message>
        <source>%1 in %2</source>
        <comment>how many experts, a format</comment>
        <translation>%1 ở %2</translation>
    </message>
</context>
<context>
    <name>offstage::ui::FindBar</name>
    <message>
        <source>Find in this conversation</source>
        <translation>Tìm trong cuộc trò chuyện này</translation>
    </message>
    <message>
        <source>Close (Esc)</source>
        <translation>Đóng (Esc)</translation>
    </message>
</context>
<context>
    <name>offstage::ui::FitView</name>
    <message>
        <source>VRAM budget</source>
        <translation>Hạn mức VRAM</translation>
    </message>
    <message>
        <source>RAM budget</source>
        <translation>Hạn mức RAM</translation>
    </message>
    <message>
        <source>Context in tokens</source>
        <translation>Ngữ cảnh tính bằng token</translation>
    </message>
    <message>
        <source>What the model would take of each memory</source>
        <translation>Mô hình sẽ chiếm bao nhiêu ở từng bộ nhớ</translation>
    </message>
    <message>
        <source>Choose a model to see what it would take.</source>
        <translation>Chọn một mô hình để xem nó sẽ chiếm bao nhiêu bộ nhớ.</translation>
    </message>
    <message>
        <source>Whether the model fits</source>
        <translation>Mô hình có vừa hay không</translation>
    </message>
    <message>
        <source>Device</source>
        <translation>Thiết bị</translation>
    </message>
    <message>
        <source>What computes the attention and the experts that find room on it. Emulated devices take a part of this computer&apos;s memory and work out the time that the real one would take</source>
        <translation>Nơi tính attention và những chuyên gia có chỗ trên đó. Thiết bị giả lập dùng một phần bộ nhớ của máy tính này và tính ra thời gian mà thiết bị thật sẽ cần</translation>
    </message>
    <message>
        <source>Memory of the device that Offstage may take</source>
        <translation>Bộ nhớ của thiết bị mà Offstage được dùng</translation>
    </message>
    <message>
        <source>Memory of this computer that Offstage may take</source>
        <translation>Bộ nhớ của máy tính này mà Offstage được dùng</translation>
    </message>
    <message>
        <source>Tokens that a conversation can hold</source>
        <translation>Số token mà một cuộc trò chuyện chứa được</translation>
    </message>
    <message>
        <source>all there is</source>
        <translation>toàn bộ</translation>
    </message>
    <message>
        <source>what is free</source>
        <translation>phần còn trống</translation>
    </message>
    <message>
        <source>the model&apos;s own</source>
        <translation>theo mô hình</translation>
    </message>
    <message>
        <source>Cache policy</source>
        <translation>Chính sách bộ nhớ đệm</translation>
    </message>
    <message>
        <source>Which experts that were copied on demand stay on the device</source>
        <translation>Những chuyên gia nào được sao chép khi cần sẽ ở lại trên thiết bị</translation>
    </message>
    <message>
        <source>&amp;Device</source>
        <translation>Th&amp;iết bị</translation>
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
        <translation>&amp;Ngữ cảnh</translation>
    </message>
    <message>
        <source>&amp;Experts</source>
        <translation>Chuyên &amp;gia</translation>
    </message>
    <message>
        <source>Cac&amp;he</source>
        <translation>&amp;Bộ nhớ đệm</translation>
    </message>
    <message>
        <source>emulated: %1</source>
        <translation>giả lập: %1</translation>
    </message>
    <message>
        <source>The CPU has no memory of its own: RAM counts</source>
        <translation>CPU không có bộ nhớ riêng: chỉ RAM có ý nghĩa</translation>
    </message>
    <message>
        <source>No model is chosen yet.</source>
        <translation>Chưa chọn mô hình nào.</translation>
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
        <translation>Không vừa: thiếu %1 %2.</translation>
    </message>
    <message>
        <source>Does not fit.</source>
        <translation>Không vừa.</translation>
    </message>
    <message>
        <source>Fits: %1 of %2 experts in RAM, %3 tokens of context.</source>
        <translation>Vừa: %1/%2 chuyên gia trong RAM, ngữ cảnh %3 token.</translation>
    </message>
    <message>
        <source>Fits: %1 of %2 experts on the device, %3 tokens of context. About %4 of the expert calls will find theirs there.</source>
        <translation>Vừa: %1/%2 chuyên gia trên thiết bị, ngữ cảnh %3 token. Khoảng %4 số lần gọi sẽ có chuyên gia sẵn ở đó.</translation>
    </message>
    <message>
        <source>The formats are chosen once their cost has been measured; until then the smallest allowed one is counted.</source>
        <translation>Định dạng được chọn sau khi đã đo chi phí của chúng; cho đến lúc đó, định dạng nhỏ nhất được phép sẽ được dùng để tính.</translation>
    </message>
    <message>
        <source>The device is emulated: its memory is part of this computer&apos;s RAM, and its times are worked out, not measured.</source>
        <translation>Thiết bị là giả lập: bộ nhớ của nó là một phần RAM của máy tính này, còn thời gian thì được tính ra, không phải đo được.</translation>
    </message>
    <message>
        <source>Fits with a context of %1 tokens</source>
        <translation>Vừa với ngữ cảnh %1 token</translation>
    </message>
    <message>
        <source>Fits with all VRAM that is free</source>
        <translation>Vừa với toàn bộ VRAM còn trống</translation>
    </message>
    <message>
        <source>Fits with %1 of VRAM</source>
        <translation>Vừa với VRAM %1</translation>
    </message>
    <message>
        <source>Fits with %1 of RAM</source>
        <translation>Vừa với RAM %1</translation>
    </message>
    <message>
        <source>Fits on the CPU</source>
        <translation>Vừa trên CPU</translation>
    </message>
    <message>
        <source>Choose this</source>
        <translation>Chọn phương án này</translation>
    </message>
    <message>
        <source>Looking at the model…</source>
        <translation>Đang xem mô hình…</translation>
    </message>
    <message>
        <source>Expected speed</source>
        <translation>Tốc độ dự kiến</translation>
    </message>
    <message>
        <source>&amp;Cancel</source>
        <translation>Hủ&amp;y</translation>
    </message>
    <message>
        <source>What was measured so far is kept</source>
        <translation>Những gì đã đo được sẽ được giữ lại</translation>
    </message>
    <message>
        <source>Times this computer for some seconds with random weights of the model&apos;s shape; the times are kept</source>
        <translation>Đo máy này trong vài giây với các trọng số ngẫu nhiên có kích thước của mô hình; kết quả được giữ lại</translation>
    </message>
    <message>
        <source>An answer is being written; measured beside it, times would be wrong</source>
        <translation>Một câu trả lời đang được viết; đo cùng lúc thì thời gian sẽ sai</translation>
    </message>
    <message>
        <source>Measuring this machine… %1 %</source>
        <translation>Đang đo máy này… %1 %</translation>
    </message>
    <message>
        <source>Forecast: %1 tokens/s, first token of a prompt of %2 tokens after %3.</source>
        <translation>Dự báo: %1 token/giây, token đầu tiên của câu hỏi %2 token sau %3.</translation>
    </message>
    <message>
        <source>Speed: not measured yet on this machine.</source>
        <translation>Tốc độ: chưa được đo trên máy này.</translation>
    </message>
    <message>
        <source>&amp;KV cache</source>
        <translation>&amp;KV cache</translation>
    </message>
    <message>
        <source>In the file: experts in %1, all else in %2.</source>
        <translation>Trong tệp: chuyên gia ở %1, phần còn lại ở %2.</translation>
    </message>
    <message>
        <source>Fits, but slowly: %1 of %2 experts stay on disk and are read whenever they are called.</source>
        <translation>Vừa, nhưng chậm: %1 trên %2 chuyên gia nằm trên đĩa và được đọc mỗi khi được gọi.</translation>
    </message>
    <message>
        <source>Fits, but slowly: %1 of %2 experts stay on disk. About %3 tokens/s (forecast).</source>
        <translation>Vừa, nhưng chậm: %1 trong %2 chuyên gia vẫn ở trên đĩa. Khoảng %3 token/s (dự báo).</translation>
    </message>
    <message>
        <source>Neuron cache</source>
        <translation>Bộ nhớ đệm nơ-ron</translation>
    </message>
    <message>
        <source>none</source>
        <comment>neuron cache</comment>
        <translation>không có</translation>
    </message>
    <message>
        <source>&amp;Neurons</source>
        <translation>Nơ-ron lưu &amp;sẵn</translation>
    </message>
    <message>
        <source>Chat template</source>
        <translation>Mẫu trò chuyện</translation>
    </message>
    <message>
        <source>How messages are written for the model. For files that bring no chat template, or one that cannot be used: that of the family it was made from, or a file in Jinja or as Ollama writes them</source>
        <translation>Cách viết tin nhắn cho mô hình. Dành cho tệp không có mẫu trò chuyện, hoặc có mẫu không dùng được: mẫu của họ mà mô hình thuộc về, hoặc một tệp viết bằng Jinja hay theo kiểu Ollama</translation>
    </message>
    <message>
        <source>Chat &amp;template</source>
        <translation>Mẫu trò ch&amp;uyện</translation>
    </message>
    <message>
        <source>From a file…</source>
        <translation>Từ một tệp…</translation>
    </message>
    <message>
        <source>Choose a chat template</source>
        <translation>Chọn mẫu trò chuyện</translation>
    </message>
    <message>
        <source>Memory of the device that keeps neurons of experts which were copied without the others, so that an expert that is called again needs only those that are missing. Of use while the Budget panel skips neurons; answers stay the same</source>
        <translation>Bộ nhớ của thiết bị giữ các nơ-ron của những chuyên gia được sao chép thiếu phần còn lại, để chuyên gia được gọi lại chỉ cần những nơ-ron còn thiếu. Có ích khi bảng Ngân sách bỏ qua nơ-ron; câu trả lời không đổi</translation>
    </message>
    <message>
        <source>Fits, but cannot answer messages: it has no chat template. Choose that of its family at “Chat template”.</source>
        <translation>Vừa, nhưng không trả lời được tin nhắn: mô hình không có mẫu trò chuyện. Hãy chọn mẫu của họ mô hình ở “Mẫu trò chuyện”.</translation>
    </message>
    <message>
        <source>Mea&amp;sure again</source>
        <translation>Đ&amp;o lại</translation>
    </message>
    <message>
        <source>Mea&amp;sure</source>
        <translation>Đ&amp;o</translation>
    </message>
    <message>
        <source>none</source>
        <comment>draft model</comment>
        <translation>không có</translation>
    </message>
    <message>
        <source>A smaller model…</source>
        <translation>Một mô hình nhỏ hơn…</translation>
    </message>
    <message>
        <source>Draft model</source>
        <translation>Mô hình viết nháp</translation>
    </message>
    <message>
        <source>A small model with the same vocabulary that says on the CPU which tokens probably follow. The model checks several of them in one step and answers the same as without, sooner where enough of them are right. The draft model&apos;s memory comes on top of what is shown here</source>
        <translation>Một mô hình nhỏ cùng từ vựng, chạy trên CPU và đoán những token có lẽ sẽ theo sau. Mô hình kiểm tra nhiều token trong một bước và trả lời y như khi không có nó, sớm hơn nếu đủ token đúng. Bộ nhớ của mô hình viết nháp cộng thêm vào những gì hiện ở đây</translation>
    </message>
    <message>
        <source>Dr&amp;aft model</source>
        <translation>Bản nhá&amp;p</translation>
    </message>
</context>
<context>
    <name>offstage::ui::FitWorker</name>
    <message>
        <source>The model could not be looked at.</source>
        <translation>Không xem được mô hình.</translation>
    </message>
</context>
<context>
    <name>offstage::ui::FullContext</name>
    <message>
        <source>Question: </source>
        <comment>in a transcript for the model</comment>
        <translation>Câu hỏi: </translation>
    </message>
    <message>
        <source>Answer: </source>
        <comment>in a transcript for the model</comment>
        <translation>Trả lời: </translation>
    </message>
    <message>
        <source>A larger context is not possible: %1</source>
        <translation>Không thể có ngữ cảnh lớn hơn: %1</translation>
    </message>
    <message>
        <source>What a context of %1 tokens costs in speed is not known yet.</source>
        <translation>Chưa biết ngữ cảnh %1 token làm giảm tốc độ bao nhiêu.</translation>
    </message>
    <message>
        <source>With a context of %1 tokens the speed stays the same (forecast).</source>
        <translation>Với ngữ cảnh %1 token tốc độ không đổi (dự báo).</translation>
    </message>
    <message>
        <source>With a context of %1 tokens: about %2 tokens/s instead of %3 (forecast).</source>
        <translation>Với ngữ cảnh %1 token: khoảng %2 token/giây thay vì %3 (dự báo).</translation>
    </message>
    <message>
        <source>A larger context does not help: %1 tokens are the most that this model can have.</source>
        <translation>Ngữ cảnh lớn hơn không giúp được: mô hình này có tối đa %1 token.</translation>
    </message>
</context>
<context>
    <name>offstage::ui::HardwareMenu</name>
    <message>
        <source>&amp;Hardware</source>
        <translation>&amp;Phần cứng</translation>
    </message>
    <message>
        <source>Hardware</source>
        <translation>Phần cứng</translation>
    </message>
    <message>
        <source>This computer</source>
        <translation>Máy tính này</translation>
    </message>
    <message>
        <source>&amp;Emulated GPU (speed is simulated)</source>
        <translation>GPU &amp;giả lập (tốc độ là mô phỏng)</translation>
    </message>
    <message>
        <source>&amp;Try a small emulated GPU</source>
        <translation>&amp;Thử một GPU giả lập nhỏ</translation>
    </message>
    <message>
        <source>24 MiB of GPU memory: the demo model does not fit, and experts come and go</source>
        <translation>24 MiB bộ nhớ GPU: mô hình mẫu không vừa, các chuyên gia đến rồi đi</translation>
    </message>
    <message>
        <source>Where the model runs. Found here: %1</source>
        <translation>Nơi chạy mô hình. Tìm thấy ở đây: %1</translation>
    </message>
    <message>
        <source>Runs on %1: its speed is simulated, not measured.</source>
        <translation>Chạy trên %1: tốc độ là mô phỏng, không phải đo được.</translation>
    </message>
    <message>
        <source>Runs on %1. Found here: %2.</source>
        <translation>Chạy trên %1. Tìm thấy ở đây: %2.</translation>
    </message>
    <message>
        <source>&amp;Back to %1</source>
        <translation>&amp;Quay lại %1</translation>
    </message>
    <message>
        <source>Leave the emulated GPU: the model runs on %1 again, and speeds are measured</source>
        <translation>Rời GPU mô phỏng: mô hình lại chạy trên %1 và tốc độ được đo thật</translation>
    </message>
</context>
<context>
    <name>offstage::ui::HeatMap</name>
    <message>
        <source>%1 %2–%3 of %4</source>
        <comment>title of columns, those that are shown, their number</comment>
        <translation>%1 %2–%3 trên %4</translation>
    </message>
    <message>
        <source>%1 %2</source>
        <comment>how many cells, of which kind</comment>
        <translation>%1 %2</translation>
    </message>
    <message>
        <source>%1 on average</source>
        <translation>trung bình %1</translation>
    </message>
    <message>
        <source>%1 at most</source>
        <translation>cao nhất %1</translation>
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
        <translation>Thang màu: từ 0 đến %1; %2 %3</translation>
    </message>
    <message>
        <source>Colours: %1</source>
        <translation>Màu: %1</translation>
    </message>
    <message>
        <source>Signs in corners: %1</source>
        <translation>Ký hiệu ở góc: %1</translation>
    </message>
    <message>
        <source>highest: %1</source>
        <comment>end of the colour scale</comment>
        <translation>cao nhất: %1</translation>
    </message>
    <message>
        <source>%1 and more (fixed)</source>
        <comment>end of the colour scale</comment>
        <translation>%1 trở lên (cố định)</translation>
    </message>
</context>
<context>
    <name>offstage::ui::HelpDesk</name>
    <message>
        <source>&amp;Contents</source>
        <translation>&amp;Nội dung</translation>
    </message>
</context>
<context>
    <name>offstage::ui::HelpDialog</name>
    <message>
        <source>What was found</source>
        <translation>Kết quả tìm</translation>
    </message>
    <message>
        <source>Help</source>
        <translation>Trợ giúp</translation>
    </message>
    <message>
        <source>Search the help</source>
        <translation>Tìm trong trợ giúp</translation>
    </message>
    <message>
        <source>Pages</source>
        <translation>Trang</translation>
    </message>
    <message>
        <source>Page of the help</source>
        <translation>Trang trợ giúp</translation>
    </message>
    <message>
        <source>No page has these words.</source>
        <translation>Không trang nào có các từ này.</translation>
    </message>
    <message numerus="yes">
        <source>%n page(s) found</source>
        <translation>
            <numerusform>Tìm thấy %n trang</numerusform>
        </translation>
    </message>
    <message>
        <source>Nothing found</source>
        <translation>Không tìm thấy gì</translation>
    </message>
    <message>
        <source>No page of the help has all of these words: %1</source>
        <translation>Không trang trợ giúp nào có đủ các từ này: %1</translation>
    </message>
    <message>
        <source>Show all pages</source>
        <translation>Hiện tất cả các trang</translation>
    </message>
    <message>
        <source>&amp;Back</source>
        <translation>&amp;Quay lại</translation>
    </message>
    <message>
        <source>The page that was shown before</source>
        <translation>Trang đã hiện trước đó</translation>
    </message>
    <message>
        <source>The pages of the help are in English, with the English names of menus and buttons.</source>
        <translation>Các trang trợ giúp bằng tiếng Anh, với tên tiếng Anh của trình đơn và nút.</translation>
    </message>
</context>
<context>
    <name>offstage::ui::History</name>
    <message>
        <source>The chat history could not be searched</source>
        <translation>Không tìm được trong lịch sử trò chuyện</translation>
    </message>
    <message>
        <source>“%1” cannot be opened</source>
        <translation>Không mở được “%1”</translation>
    </message>
    <message>
        <source>A change of the conversation could not be saved</source>
        <translation>Không lưu được một thay đổi của cuộc trò chuyện</translation>
    </message>
</context>
<context>
    <name>offstage::ui::HitSteps</name>
    <message>
        <source>Previous hit (Shift+Enter)</source>
        <translation>Kết quả trước (Shift+Enter)</translation>
    </message>
    <message>
        <source>Next hit (Enter)</source>
        <translation>Kết quả tiếp theo (Enter)</translation>
    </message>
    <message>
        <source>Not found</source>
        <translation>Không tìm thấy</translation>
    </message>
    <message>
        <source>%1 / %2</source>
        <translation>%1 / %2</translation>
    </message>
    <message>
        <source>Hit %1 of %2</source>
        <translation>Kết quả %1 trên %2</translation>
    </message>
</context>
<context>
    <name>offstage::ui::InputBar</name>
    <message>
        <source>Enter sends · Shift+Enter begins a new line</source>
        <translation>Enter để gửi · Shift+Enter để xuống dòng</translation>
    </message>
    <message>
        <source>The model is loading. Write on: your message is sent as soon as it is ready</source>
        <translation>Mô hình đang được nạp. Cứ viết tiếp: tin nhắn được gửi ngay khi mô hình sẵn sàng</translation>
    </message>
    <message>
        <source>Stopping…</source>
        <translation>Đang dừng…</translation>
    </message>
    <message>
        <source>Take the message back</source>
        <translation>Lấy lại tin nhắn</translation>
    </message>
    <message>
        <source>Stop</source>
        <translation>Dừng</translation>
    </message>
    <message>
        <source>Send</source>
        <translation>Gửi</translation>
    </message>
    <message>
        <source>Write something to send</source>
        <translation>Viết gì đó để gửi</translation>
    </message>
    <message>
        <source> (Enter)</source>
        <translation> (Enter)</translation>
    </message>
    <message>
        <source>The model is busy with something else. Write on: your message is sent when that is done</source>
        <translation>Mô hình đang bận việc khác. Cứ viết tiếp: tin nhắn được gửi khi việc đó xong</translation>
    </message>
    <message>
        <source>Thinking</source>
        <translation>Suy nghĩ</translation>
    </message>
    <message>
        <source>Thinking: %1</source>
        <translation>Suy nghĩ: %1</translation>
    </message>
    <message>
        <source>How much the model thinks before it answers. From the next answer on</source>
        <translation>Mô hình suy nghĩ bao nhiêu trước khi trả lời. Từ câu trả lời sau</translation>
    </message>
    <message>
        <source>Attach files</source>
        <translation>Đính kèm tệp</translation>
    </message>
    <message>
        <source>Write what is to be done with the files</source>
        <translation>Hãy viết việc cần làm với các tệp</translation>
    </message>
    <message>
        <source>Files being read</source>
        <translation>Các tệp đang được đọc</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Hủy</translation>
    </message>
    <message>
        <source>Attach files: text, source code, CSV, Markdown, PDF. Dropping or pasting them does the same</source>
        <translation>Đính kèm tệp: văn bản, mã nguồn, CSV, Markdown, PDF. Thả hoặc dán tệp cũng được</translation>
    </message>
    <message>
        <source>Cancel reading files</source>
        <translation>Hủy việc đọc tệp</translation>
    </message>
    <message>
        <source>Your message waits for the model</source>
        <translation>Tin nhắn đang chờ mô hình</translation>
    </message>
    <message>
        <source>Your message waits for the model. %1 takes it back</source>
        <translation>Tin nhắn đang chờ mô hình. Nhấn %1 để lấy lại</translation>
    </message>
    <message>
        <source>No model is open: open one (%1), or drop its folder or GGUF file on this window</source>
        <translation>Chưa mở mô hình nào: hãy mở một mô hình (%1), hoặc thả thư mục hoặc tệp GGUF của nó vào cửa sổ này</translation>
    </message>
    <message>
        <source>File menu</source>
        <translation>trình đơn Tệp</translation>
    </message>
    <message>
        <source>Answering</source>
        <translation>Đang trả lời</translation>
    </message>
    <message>
        <source>Answering · %1 stops</source>
        <translation>Đang trả lời · %1 để dừng</translation>
    </message>
    <message>
        <source>%1 (%2)</source>
        <translation>%1 (%2)</translation>
    </message>
    <message>
        <source>This is sent when the answer is complete · Enter again keeps it here</source>
        <translation>Sẽ gửi khi câu trả lời xong · Enter lần nữa để giữ lại đây</translation>
    </message>
</context>
<context>
    <name>offstage::ui::KeyBindings</name>
    <message>
        <source>A shortcut is one key, with Ctrl, Alt or Shift held or without.</source>
        <translation>Phím tắt là một phím, có hoặc không giữ Ctrl, Alt hay Shift.</translation>
    </message>
    <message>
        <source>%1 alone is needed for writing. Hold Ctrl or Alt with it, or take a function key.</source>
        <translation>Riêng %1 cần cho việc viết. Hãy giữ thêm Ctrl hoặc Alt, hoặc chọn một phím chức năng.</translation>
    </message>
    <message>
        <source>%1 may open a menu or reach a field. Hold Ctrl or Shift as well.</source>
        <translation>%1 có thể mở trình đơn hoặc chuyển đến một ô. Hãy giữ thêm Ctrl hoặc Shift.</translation>
    </message>
    <message>
        <source>%1 belongs to every text field: copy, cut, paste, undo, redo and select all.</source>
        <translation>%1 thuộc về mọi ô văn bản: sao chép, cắt, dán, hoàn tác, làm lại và chọn tất cả.</translation>
    </message>
</context>
<context>
    <name>offstage::ui::KeyEdit</name>
    <message>
        <source>Press the new keys here</source>
        <translation>Nhấn phím mới tại đây</translation>
    </message>
</context>
<context>
    <name>offstage::ui::KeysPage</name>
    <message>
        <source>N&amp;o keys</source>
        <translation>&amp;Không phím</translation>
    </message>
    <message>
        <source>The command keeps its place in the menu, without keys</source>
        <translation>Lệnh vẫn ở trong trình đơn, không có phím</translation>
    </message>
    <message>
        <source>&amp;Reset</source>
        <translation>Đặt &amp;lại</translation>
    </message>
    <message>
        <source>Give this command the keys that it has by itself</source>
        <translation>Trả lại cho lệnh này phím vốn có</translation>
    </message>
    <message>
        <source>Reset &amp;all</source>
        <translation>Đặt lại &amp;tất cả</translation>
    </message>
    <message>
        <source>Give every command the keys that it has by itself</source>
        <translation>Trả lại cho mọi lệnh phím vốn có</translation>
    </message>
    <message>
        <source>About these keys</source>
        <translation>Về các phím này</translation>
    </message>
    <message>
        <source>&amp;Use them here</source>
        <translation>&amp;Dùng ở đây</translation>
    </message>
    <message>
        <source>Take these keys from the other command</source>
        <translation>Lấy phím này khỏi lệnh kia</translation>
    </message>
    <message>
        <source>Search commands and keys</source>
        <translation>Tìm lệnh và phím</translation>
    </message>
    <message>
        <source>Commands</source>
        <translation>Lệnh</translation>
    </message>
    <message>
        <source>Command</source>
        <translation>Lệnh</translation>
    </message>
    <message>
        <source>Keys</source>
        <translation>Phím</translation>
    </message>
    <message>
        <source>Keys of the chosen command</source>
        <translation>Phím của lệnh đã chọn</translation>
    </message>
    <message>
        <source>&amp;Keys</source>
        <translation>&amp;Phím</translation>
    </message>
    <message>
        <source>All commands have their own keys again.</source>
        <translation>Mọi lệnh đã có lại phím vốn có.</translation>
    </message>
    <message>
        <source>%1 belongs to “%2”.</source>
        <translation>%1 thuộc về “%2”.</translation>
    </message>
</context>
<context>
    <name>offstage::ui::LeftOutEdit</name>
    <message>
        <source>Compute with guessed neurons</source>
        <translation>Tính với các nơ-ron được phỏng đoán</translation>
    </message>
    <message>
        <source>Skipped neurons</source>
        <translation>Nơ-ron bị bỏ qua</translation>
    </message>
    <message>
        <source>None</source>
        <translation>Không bỏ</translation>
    </message>
    <message>
        <source>Up to one activation</source>
        <translation>Đến một mức kích hoạt</translation>
    </message>
    <message>
        <source>Neurons skipped up to this activation</source>
        <translation>Nơ-ron bị bỏ qua đến mức kích hoạt này</translation>
    </message>
    <message>
        <source>The threshold of all experts</source>
        <translation>Ngưỡng của mọi chuyên gia</translation>
    </message>
    <message>
        <source>Where the neurons of an expert were guessed and copied ahead, and it needs others: compute with those that are there. Less is copied, and answers change more; no measured loss counts this</source>
        <translation>Khi các nơ-ron của một chuyên gia được phỏng đoán và sao chép trước, nhưng nó cần những nơ-ron khác: tính với những nơ-ron đang có. Sao chép ít hơn, câu trả lời thay đổi nhiều hơn; không tổn thất đo được nào tính đến điều này</translation>
    </message>
    <message>
        <source>By expert, loss %1</source>
        <translation>Theo chuyên gia, tổn thất %1</translation>
    </message>
    <message>
        <source>Each expert has its own threshold. Measured over %1, %2 tokens: %3 of the neurons active, Kullback-Leibler divergence %4</source>
        <translation>Mỗi chuyên gia có ngưỡng riêng. Đo trên %1, %2 token: %3 nơ-ron hoạt động, độ phân kỳ Kullback-Leibler %4</translation>
    </message>
    <message>
        <source>By expert: not measured</source>
        <translation>Theo chuyên gia: chưa đo</translation>
    </message>
    <message>
        <source>“offstage-cli sensitivity --thresholds-for-loss 0.003 --keep” chooses a threshold for each expert</source>
        <translation>“offstage-cli sensitivity --thresholds-for-loss 0.003 --keep” chọn ngưỡng cho từng chuyên gia</translation>
    </message>
    <message>
        <source>The quality above is one floor for bits and neurons: the plan chooses what is skipped</source>
        <translation>Chất lượng ở trên là một giới hạn chung cho số bit và nơ-ron: kế hoạch chọn phần bị bỏ qua</translation>
    </message>
    <message>
        <source>Neurons of the chosen experts whose activation is at most a threshold are skipped: less is read and copied, and the answers are no longer the model&apos;s own</source>
        <translation>Bỏ các nơ-ron của chuyên gia được chọn có mức kích hoạt không quá một ngưỡng: đọc và sao chép ít hơn, và câu trả lời không còn là của chính mô hình</translation>
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
        <translation>cao nhất %1</translation>
    </message>
</context>
<context>
    <name>offstage::ui::LoadBanner</name>
    <message>
        <source>Cancel</source>
        <translation>Hủy</translation>
    </message>
    <message>
        <source>Loading a model</source>
        <translation>Đang nạp mô hình</translation>
    </message>
    <message>
        <source>Progress of loading</source>
        <translation>Tiến độ nạp</translation>
    </message>
    <message>
        <source>Cancel loading</source>
        <translation>Hủy việc nạp</translation>
    </message>
    <message>
        <source>Opening %1</source>
        <translation>Đang mở %1</translation>
    </message>
    <message>
        <source> · %1 of %2</source>
        <translation> · %1 / %2</translation>
    </message>
    <message>
        <source>Cancelling…</source>
        <translation>Đang hủy…</translation>
    </message>
</context>
<context>
    <name>offstage::ui::LocalModelView</name>
    <message>
        <source>On this computer</source>
        <translation>Trên máy này</translation>
    </message>
    <message>
        <source>&amp;Add folder…</source>
        <translation>&amp;Thêm thư mục…</translation>
    </message>
    <message>
        <source>All models…</source>
        <translation>Tất cả mô hình…</translation>
    </message>
    <message>
        <source>Models on this computer</source>
        <translation>Các mô hình trên máy này</translation>
    </message>
    <message>
        <source>Look for models in a folder of your own too</source>
        <translation>Tìm mô hình cả trong một thư mục của bạn</translation>
    </message>
    <message>
        <source>All models that were found, and how to load them</source>
        <translation>Tất cả mô hình đã tìm thấy và cách nạp chúng</translation>
    </message>
</context>
<context>
    <name>offstage::ui::LocalModels</name>
    <message>
        <source>folder</source>
        <translation>thư mục</translation>
    </message>
    <message>
        <source>%1 bits</source>
        <translation>%1 bit</translation>
    </message>
    <message>
        <source>Fits · %1</source>
        <translation>Vừa · %1</translation>
    </message>
    <message>
        <source>Fits, partly on disk · %1</source>
        <translation>Vừa, một phần trên đĩa · %1</translation>
    </message>
    <message>
        <source>Does not fit: %1 are missing</source>
        <translation>Không vừa: thiếu %1</translation>
    </message>
    <message>
        <source>Does not fit</source>
        <translation>Không vừa</translation>
    </message>
    <message>
        <source>Cannot be opened: %1</source>
        <translation>Không mở được: %1</translation>
    </message>
    <message>
        <source>Looking for models on this computer…</source>
        <translation>Đang tìm mô hình trên máy này…</translation>
    </message>
    <message>
        <source>No Mixture-of-Experts models were found. Looked in: %1.</source>
        <translation>Không tìm thấy mô hình Mixture-of-Experts nào. Đã tìm trong: %1.</translation>
    </message>
    <message numerus="yes">
        <source>%n other model(s) are no Mixture-of-Experts models.</source>
        <translation>
            <numerusform>%n mô hình khác không phải là mô hình Mixture-of-Experts.</numerusform>
        </translation>
    </message>
    <message>
        <source>There are too many files: not all were looked at.</source>
        <translation>Có quá nhiều tệp: chưa xem hết được.</translation>
    </message>
    <message>
        <source>Fits</source>
        <translation>Vừa</translation>
    </message>
    <message>
        <source>Fits, partly on disk</source>
        <translation>Vừa, một phần trên đĩa</translation>
    </message>
    <message>
        <source>%1 experts × %2 layers</source>
        <translation>%1 chuyên gia × %2 lớp</translation>
    </message>
    <message>
        <source>no chat template</source>
        <translation>không có mẫu trò chuyện</translation>
    </message>
    <message>
        <source>Fits, but needs a chat template</source>
        <translation>Vừa, nhưng cần mẫu trò chuyện</translation>
    </message>
</context>
<context>
    <name>offstage::ui::LocalServerPage</name>
    <message>
        <source>&amp;Local server on</source>
        <translation>&amp;Bật máy chủ cục bộ</translation>
    </message>
    <message>
        <source>Switch it on &amp;when Offstage starts</source>
        <translation>Bật &amp;khi Offstage khởi động</translation>
    </message>
    <message>
        <source>&amp;Copy</source>
        <translation>&amp;Sao chép</translation>
    </message>
    <message>
        <source>Copy the token</source>
        <translation>Sao chép token</translation>
    </message>
    <message>
        <source>&amp;New token</source>
        <translation>Token &amp;mới</translation>
    </message>
    <message>
        <source>Make another token. Programs that bring the one before are refused from then on, and what is being answered is stopped.</source>
        <translation>Tạo token khác. Từ đó các chương trình mang token cũ bị từ chối, và câu trả lời đang viết bị dừng.</translation>
    </message>
    <message>
        <source>C&amp;opy</source>
        <translation>S&amp;ao chép</translation>
    </message>
    <message>
        <source>Copy the address for other programs</source>
        <translation>Sao chép địa chỉ cho các chương trình khác</translation>
    </message>
    <message>
        <source>State of the local server</source>
        <translation>Trạng thái của máy chủ cục bộ</translation>
    </message>
    <message>
        <source>&amp;Stop this answer</source>
        <translation>&amp;Dừng câu trả lời này</translation>
    </message>
    <message>
        <source>Stop the answer that another program is getting</source>
        <translation>Dừng câu trả lời mà chương trình khác đang nhận</translation>
    </message>
    <message>
        <source>Problem</source>
        <translation>Sự cố</translation>
    </message>
    <message>
        <source>Address to listen on</source>
        <translation>Địa chỉ để lắng nghe</translation>
    </message>
    <message>
        <source>127.0.0.1: programs of this computer alone</source>
        <translation>127.0.0.1: chỉ các chương trình trên máy tính này</translation>
    </message>
    <message>
        <source>Port</source>
        <translation>Cổng</translation>
    </message>
    <message>
        <source>any free one</source>
        <translation>cổng trống bất kỳ</translation>
    </message>
    <message>
        <source>Token</source>
        <translation>Token</translation>
    </message>
    <message>
        <source>made when first switched on</source>
        <translation>được tạo khi bật lần đầu</translation>
    </message>
    <message>
        <source>What other programs call the API key. Kept in %1, which only you can read.</source>
        <translation>Các chương trình khác gọi là khóa API. Được giữ trong %1, chỉ bạn đọc được.</translation>
    </message>
    <message>
        <source>none, or http://localhost:3000</source>
        <translation>không có, hoặc http://localhost:3000</translation>
    </message>
    <message>
        <source>Web pages that may use the server</source>
        <translation>Các trang web được dùng máy chủ</translation>
    </message>
    <message>
        <source>Where pages come from that may use the server, with blanks between</source>
        <translation>Nguồn của các trang được dùng máy chủ, cách nhau bằng khoảng trắng</translation>
    </message>
    <message>
        <source>Address for other programs</source>
        <translation>Địa chỉ cho các chương trình khác</translation>
    </message>
    <message>
        <source>shown while the server is on</source>
        <translation>hiện khi máy chủ đang bật</translation>
    </message>
    <message>
        <source>Other computers can reach this address. What is asked and answered, and the token, pass the network as plain text.</source>
        <translation>Các máy tính khác có thể tới địa chỉ này. Câu hỏi, câu trả lời và token đi qua mạng dưới dạng văn bản không mã hóa.</translation>
    </message>
    <message>
        <source>While it is on, other programs can ask the model that is open, by parts of the HTTP APIs of OpenAI, Anthropic and Ollama. Your own messages go first.</source>
        <translation>Khi đang bật, các chương trình khác có thể hỏi mô hình đang mở bằng các phần của API HTTP của OpenAI, Anthropic và Ollama. Tin nhắn của bạn được trả lời trước.</translation>
    </message>
    <message>
        <source>&amp;Port</source>
        <translation>C&amp;ổng</translation>
    </message>
    <message>
        <source>&amp;Address</source>
        <translation>Đị&amp;a chỉ</translation>
    </message>
    <message>
        <source>Web pa&amp;ges</source>
        <translation>Tran&amp;g web</translation>
    </message>
    <message>
        <source>&amp;Token</source>
        <translation>&amp;Token</translation>
    </message>
    <message>
        <source>For other p&amp;rograms</source>
        <translation>Cho chương t&amp;rình khác</translation>
    </message>
</context>
<context>
    <name>offstage::ui::LocalServerSwitch</name>
    <message>
        <source>Listening at %1</source>
        <translation>Đang lắng nghe tại %1</translation>
    </message>
    <message>
        <source>Listening at %1, without a model yet</source>
        <translation>Đang lắng nghe tại %1, chưa có mô hình</translation>
    </message>
    <message>
        <source>%1 answered, %2 waiting</source>
        <translation>%1 đã trả lời, %2 đang chờ</translation>
    </message>
    <message>
        <source>%1 · %2, %3 being answered</source>
        <translation>%1 · %2, %3 đang được trả lời</translation>
    </message>
    <message>
        <source>%1 · %2</source>
        <translation>%1 · %2</translation>
    </message>
    <message>
        <source>Off</source>
        <translation>Tắt</translation>
    </message>
</context>
<context>
    <name>offstage::ui::LogPanel</name>
    <message>
        <source>Save…</source>
        <translation>Lưu…</translation>
    </message>
    <message>
        <source>Kind of events</source>
        <translation>Loại sự kiện</translation>
    </message>
    <message>
        <source>Show events of one kind only</source>
        <translation>Chỉ hiện sự kiện của một loại</translation>
    </message>
    <message>
        <source>All events</source>
        <translation>Mọi sự kiện</translation>
    </message>
    <message>
        <source>Search in the log</source>
        <translation>Tìm trong nhật ký</translation>
    </message>
    <message>
        <source>Search</source>
        <translation>Tìm kiếm</translation>
    </message>
    <message>
        <source>Show events that hold all of these words</source>
        <translation>Hiện các sự kiện chứa tất cả những từ này</translation>
    </message>
    <message>
        <source>Save what is shown, as text or as JSON</source>
        <translation>Lưu những gì đang hiện, dưới dạng văn bản hoặc JSON</translation>
    </message>
    <message>
        <source>Events</source>
        <translation>Sự kiện</translation>
    </message>
    <message>
        <source>&amp;Copy</source>
        <translation>&amp;Sao chép</translation>
    </message>
    <message>
        <source>The chosen event</source>
        <translation>Sự kiện đã chọn</translation>
    </message>
    <message>
        <source>No outbound connections</source>
        <translation>Không có kết nối ra ngoài</translation>
    </message>
    <message numerus="yes">
        <source>%n outbound connection(s)</source>
        <translation>
            <numerusform>%n kết nối ra ngoài</numerusform>
        </translation>
    </message>
    <message>
        <source>%1 of %2 events</source>
        <translation>%1/%2 sự kiện</translation>
    </message>
    <message>
        <source>%1 older ones were let go</source>
        <translation>đã bỏ %1 sự kiện cũ hơn</translation>
    </message>
    <message>
        <source>The log could not be saved as %1: %2.</source>
        <translation>Không lưu được nhật ký vào %1: %2.</translation>
    </message>
    <message>
        <source>Save the log</source>
        <translation>Lưu nhật ký</translation>
    </message>
    <message>
        <source>Text (*.txt)</source>
        <translation>Văn bản (*.txt)</translation>
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
        <translation>Đã đo lại: nhanh gấp %1 lần so với lúc đầu, nên máy này được giao nhiều hơn.</translation>
    </message>
    <message>
        <source>Measured again: %1 times slower than at first, so less is computed there.</source>
        <translation>Đã đo lại: chậm hơn %1 lần so với lúc đầu, nên máy này được giao ít hơn.</translation>
    </message>
    <message>
        <source>◌ connecting…</source>
        <translation>◌ đang kết nối…</translation>
    </message>
    <message>
        <source>● up</source>
        <translation>● sẵn sàng</translation>
    </message>
    <message>
        <source>▲ not reached</source>
        <translation>▲ không kết nối được</translation>
    </message>
    <message>
        <source>▲ refuses</source>
        <translation>▲ từ chối</translation>
    </message>
    <message>
        <source>▲ shutting down</source>
        <translation>▲ đang tắt</translation>
    </message>
    <message>
        <source>◌ draining</source>
        <translation>◌ đang rút</translation>
    </message>
    <message>
        <source>○ off</source>
        <translation>○ tắt</translation>
    </message>
    <message>
        <source>○ no model open</source>
        <translation>○ chưa mở mô hình</translation>
    </message>
    <message>
        <source>◌ after this answer</source>
        <translation>◌ sau câu trả lời này</translation>
    </message>
    <message>
        <source>Attention and the choice of experts are computed on every machine; %1 of the %2 experts here.</source>
        <translation>Attention và việc chọn chuyên gia được tính trên mọi máy; %1 trong %2 chuyên gia ở đây.</translation>
    </message>
    <message>
        <source>Attention and the choice of experts are computed here, and all experts that no other machine takes.</source>
        <translation>Attention và việc chọn chuyên gia được tính ở đây, cùng mọi chuyên gia mà không máy nào khác nhận.</translation>
    </message>
    <message>
        <source>Of a token&apos;s %1 ms it waited %2 ms for other machines.</source>
        <translation>Trong %1 ms của một token, máy này chờ các máy khác %2 ms.</translation>
    </message>
    <message>
        <source>%1, %2, key %3…</source>
        <translation>%1, %2, khóa %3…</translation>
    </message>
    <message>
        <source>It is not used, and nothing connects to it.</source>
        <translation>Máy này không được dùng, và không có kết nối nào đến nó.</translation>
    </message>
    <message>
        <source>It is not reached: %1. Its experts run here; it is tried again by itself.</source>
        <translation>Không kết nối được: %1. Các chuyên gia của máy đó chạy ở đây; chương trình tự thử lại.</translation>
    </message>
    <message>
        <source>Holds %1 of %2 experts in %3 of %4.</source>
        <translation>Giữ %1 trong %2 chuyên gia, trong %3 trên %4.</translation>
    </message>
    <message>
        <source>%1 ms there and back, %2 MB/s; %3 threads, %4.</source>
        <translation>%1 ms đi và về, %2 MB/s; %3 luồng, %4.</translation>
    </message>
    <message>
        <source>Makes each step as well; computes %1 of the experts.</source>
        <translation>Cũng thực hiện từng bước; tính %1 chuyên gia.</translation>
    </message>
    <message>
        <source>Connected to %1 itself: %2 ms there and back, %3 MB/s.</source>
        <translation>Tự kết nối với %1: %2 ms khứ hồi, %3 MB/s.</translation>
    </message>
    <message>
        <source>Not connected to %1 (%2): what the two send each other goes by this computer.</source>
        <translation>Không được kết nối với %1 (%2): những gì hai máy gửi cho nhau đi qua máy tính này.</translation>
    </message>
    <message>
        <source>A token: %1 ms computing its experts, %2 ms on the network, %3 ms waited for here; %4.</source>
        <translation>Một token: %1 ms tính các chuyên gia của máy, %2 ms trên mạng, %3 ms chờ ở đây; %4.</translation>
    </message>
    <message>
        <source>A token: %1 ms computing there, %2 ms on the network, %3 ms waited for here; %4.</source>
        <translation>Một token: %1 ms tính ở đó, %2 ms trên mạng, %3 ms chờ ở đây; %4.</translation>
    </message>
    <message numerus="yes">
        <source>Lost since it was joined: %n time(s).</source>
        <translation>
            <numerusform>Đã mất kết nối %n lần từ khi được dùng.</numerusform>
        </translation>
    </message>
    <message>
        <source>As long as they compute whatever they hold, the others are helpers.</source>
        <translation>Chừng nào còn tính mọi thứ chúng giữ, các máy khác là máy giúp.</translation>
    </message>
    <message>
        <source>Chosen when machines are connected to, and anew before an answer where the other has become clearly faster, by what each is forecast to take.</source>
        <translation>Được chọn khi kết nối với các máy, và chọn lại trước một câu trả lời khi cách kia đã nhanh hơn rõ rệt, theo dự báo của mỗi cách.</translation>
    </message>
    <message>
        <source>Counts as soon as a machine is used.</source>
        <translation>Có hiệu lực ngay khi một máy được dùng.</translation>
    </message>
    <message>
        <source>In force: every machine makes each step.</source>
        <translation>Hiện dùng: mọi máy thực hiện từng bước.</translation>
    </message>
    <message>
        <source>In force: desktop and helpers.</source>
        <translation>Hiện dùng: máy này và máy giúp.</translation>
    </message>
    <message>
        <source>Forecast: %1 ms a token, the other way %2 ms.</source>
        <translation>Dự báo: %1 ms mỗi token, cách kia %2 ms.</translation>
    </message>
    <message>
        <source>Forecast now: %1 ms a token, the other way %2 ms; it is chosen anew before an answer, where it is clearly faster.</source>
        <translation>Dự báo hiện tại: %1 ms mỗi token, cách kia %2 ms; sẽ được chọn lại trước một câu trả lời khi nhanh hơn rõ rệt.</translation>
    </message>
    <message>
        <source>What the other would take is not known.</source>
        <translation>Chưa biết cách kia mất bao lâu.</translation>
    </message>
    <message>
        <source>A machine makes no steps for this one, so the choice fell on helpers.</source>
        <translation>Có máy không thực hiện bước cho máy này, nên đã chọn cách máy giúp.</translation>
    </message>
    <message>
        <source>Being connected to; until then this machine makes every step alone.</source>
        <translation>Đang kết nối; đến lúc đó máy này tự làm mọi bước.</translation>
    </message>
    <message>
        <source>No other machine is reached: this one makes every step alone.</source>
        <translation>Không kết nối được máy nào khác: máy này tự làm mọi bước.</translation>
    </message>
</context>
<context>
    <name>offstage::ui::Machines</name>
    <message>
        <source>%1: %2 ms there and back, %3 MB/s; it holds %4 experts in %5 of %6.</source>
        <translation>%1: %2 ms đi và về, %3 MB/s; máy giữ %4 chuyên gia trong %5 trên %6.</translation>
    </message>
    <message>
        <source>experts of the model on %1; again while it cannot be reached</source>
        <translation>chuyên gia của mô hình trên %1; thử lại chừng nào chưa kết nối được</translation>
    </message>
    <message>
        <source>pairing</source>
        <translation>ghép đôi</translation>
    </message>
    <message>
        <source>test of the connection to %1</source>
        <translation>kiểm tra kết nối đến %1</translation>
    </message>
    <message>
        <source>experts of the model on %1, again</source>
        <translation>chuyên gia của mô hình trên %1, lần nữa</translation>
    </message>
    <message>
        <source>steps of the model, made by %1 as well; again while it cannot be reached</source>
        <translation>các bước của mô hình, %1 cũng thực hiện; thử lại khi chưa kết nối được</translation>
    </message>
    <message>
        <source>steps of the model, made by %1 as well</source>
        <translation>các bước của mô hình, %1 cũng thực hiện</translation>
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
        <translation>Lệnh</translation>
    </message>
    <message>
        <source>● up</source>
        <translation>● sẵn sàng</translation>
    </message>
    <message>
        <source>The chosen machine</source>
        <translation>Máy đã chọn</translation>
    </message>
    <message>
        <source>What the times are of</source>
        <translation>Thời gian của những gì</translation>
    </message>
    <message>
        <source>Send activations in 16 bit</source>
        <translation>Gửi giá trị kích hoạt ở 16 bit</translation>
    </message>
    <message>
        <source>Add…</source>
        <translation>Thêm…</translation>
    </message>
    <message>
        <source>Test link</source>
        <translation>Kiểm tra</translation>
    </message>
    <message>
        <source>Use</source>
        <translation>Dùng</translation>
    </message>
    <message>
        <source>Remove</source>
        <translation>Gỡ bỏ</translation>
    </message>
    <message>
        <source>This Offstage was built without the libraries that connections need (gRPC and OpenSSL), so other machines cannot help.</source>
        <translation>Bản Offstage này được dựng mà không có các thư viện cần cho kết nối (gRPC và OpenSSL), nên các máy khác không giúp được.</translation>
    </message>
    <message>
        <source>%1 is paired with this machine.</source>
        <translation>%1 đã được ghép đôi với máy này.</translation>
    </message>
    <message>
        <source>%1 is paired with this machine. It does not answer yet: start offstage-node there.</source>
        <translation>%1 đã được ghép đôi với máy này. Máy đó chưa trả lời: hãy chạy offstage-node ở đó.</translation>
    </message>
    <message>
        <source>Another computer of yours can hold experts of the model in its memory, and compute them.</source>
        <translation>Một máy tính khác của bạn có thể giữ chuyên gia của mô hình trong bộ nhớ và tính chúng.</translation>
    </message>
    <message>
        <source>1. There, let it serve the same model:</source>
        <translation>1. Ở máy đó, phục vụ cùng mô hình:</translation>
    </message>
    <message>
        <source>2. Beside it, let it show eight words:</source>
        <translation>2. Bên cạnh đó, cho hiển thị tám từ:</translation>
    </message>
    <message>
        <source>3. Here, press Add… and type its address and the words.</source>
        <translation>3. Ở đây, nhấn Thêm… rồi gõ địa chỉ của máy đó và các từ.</translation>
    </message>
    <message>
        <source>Nothing connects to another machine before that. What goes over the network is encrypted.</source>
        <translation>Trước đó không có kết nối nào đến máy khác. Những gì đi qua mạng đều được mã hóa.</translation>
    </message>
    <message>
        <source>Machine</source>
        <translation>Máy</translation>
    </message>
    <message>
        <source>State</source>
        <translation>Trạng thái</translation>
    </message>
    <message>
        <source>Experts</source>
        <translation>Chuyên gia</translation>
    </message>
    <message>
        <source>Link</source>
        <translation>Kết nối</translation>
    </message>
    <message>
        <source>Experts of the model that it holds</source>
        <translation>Các chuyên gia của mô hình mà máy giữ</translation>
    </message>
    <message>
        <source>A small message there and back, and the rate of large ones</source>
        <translation>Một thông điệp nhỏ đi và về, và tốc độ của thông điệp lớn</translation>
    </message>
    <message>
        <source>Machines</source>
        <translation>Máy</translation>
    </message>
    <message>
        <source>A token&apos;s time by machine</source>
        <translation>Thời gian của một token theo máy</translation>
    </message>
    <message>
        <source>time by machine</source>
        <translation>thời gian theo máy</translation>
    </message>
    <message>
        <source>Known once a part of an answer was written with their help.</source>
        <translation>Sẽ biết khi một phần câu trả lời đã được viết với sự giúp đỡ của chúng.</translation>
    </message>
    <message>
        <source>Experts by machine</source>
        <translation>Chuyên gia theo máy</translation>
    </message>
    <message>
        <source>experts by machine</source>
        <translation>chuyên gia theo máy</translation>
    </message>
    <message>
        <source>Open a model to see where its experts are.</source>
        <translation>Mở một mô hình để xem các chuyên gia của nó ở đâu.</translation>
    </message>
    <message>
        <source>where that is faster</source>
        <translation>chỗ nào nhanh hơn</translation>
    </message>
    <message>
        <source>whatever they hold</source>
        <translation>mọi thứ chúng giữ</translation>
    </message>
    <message>
        <source>What other machines compute</source>
        <translation>Các máy khác tính những gì</translation>
    </message>
    <message>
        <source>Which experts other machines compute: those that are forecast to be done sooner there, by measured costs, or all that they hold</source>
        <translation>Các máy khác tính chuyên gia nào: những chuyên gia dự báo xong sớm hơn ở đó theo chi phí đã đo, hay tất cả những gì chúng giữ</translation>
    </message>
    <message>
        <source>Half the bytes over the network. Answers are then rounded: they differ a little from those of one machine</source>
        <translation>Một nửa số byte qua mạng. Khi đó câu trả lời bị làm tròn: hơi khác so với khi chạy trên một máy</translation>
    </message>
    <message>
        <source>They compute</source>
        <translation>Chúng tính</translation>
    </message>
    <message>
        <source>Experts that each machine holds</source>
        <translation>Chuyên gia mà mỗi máy giữ</translation>
    </message>
    <message>
        <source>Pair with a machine that shows eight words</source>
        <translation>Ghép đôi với một máy đang hiển thị tám từ</translation>
    </message>
    <message>
        <source>Test the link to the chosen machine</source>
        <translation>Kiểm tra kết nối đến máy đã chọn</translation>
    </message>
    <message>
        <source>Use or drain the chosen machine</source>
        <translation>Dùng hoặc rút máy đã chọn</translation>
    </message>
    <message>
        <source>Remove the chosen machine</source>
        <translation>Gỡ bỏ máy đã chọn</translation>
    </message>
    <message>
        <source>Testing the link to %1…</source>
        <translation>Đang kiểm tra kết nối đến %1…</translation>
    </message>
    <message>
        <source>%1 is used from the end of this answer on.</source>
        <translation>%1 được dùng từ khi câu trả lời này kết thúc.</translation>
    </message>
    <message>
        <source>%1 is being connected to.</source>
        <translation>Đang kết nối đến %1.</translation>
    </message>
    <message>
        <source>%1 is used as soon as a model is open.</source>
        <translation>%1 được dùng ngay khi có mô hình được mở.</translation>
    </message>
    <message>
        <source>%1 is drained: its experts run here again from the end of this answer on. It stays paired.</source>
        <translation>%1 được rút ra: các chuyên gia của máy đó lại chạy ở đây từ khi câu trả lời này kết thúc. Máy vẫn được ghép đôi.</translation>
    </message>
    <message>
        <source>%1 is drained: its experts run here again. It stays paired.</source>
        <translation>%1 đã được rút ra: các chuyên gia của máy đó lại chạy ở đây. Máy vẫn được ghép đôi.</translation>
    </message>
    <message>
        <source>Remove a machine</source>
        <translation>Gỡ bỏ một máy</translation>
    </message>
    <message>
        <source>Remove %1?</source>
        <translation>Gỡ bỏ %1?</translation>
    </message>
    <message>
        <source>Its key is forgotten. To use it again it has to be paired again, with new words.</source>
        <translation>Khóa của máy đó bị quên. Muốn dùng lại phải ghép đôi lại, với các từ mới.</translation>
    </message>
    <message>
        <source>%1 was removed.</source>
        <translation>Đã gỡ bỏ %1.</translation>
    </message>
    <message>
        <source>○ no model open</source>
        <translation>○ chưa mở mô hình</translation>
    </message>
    <message>
        <source>This machine</source>
        <translation>Máy này</translation>
    </message>
    <message>
        <source>computing</source>
        <translation>tính</translation>
    </message>
    <message>
        <source>waiting</source>
        <translation>chờ</translation>
    </message>
    <message>
        <source>this machine</source>
        <translation>máy này</translation>
    </message>
    <message>
        <source>network</source>
        <translation>mạng</translation>
    </message>
    <message>
        <source>What a token takes, measured: mean of the last %1. Machines work side by side.</source>
        <translation>Một token mất bao lâu, đo được: trung bình của %1 token gần nhất. Các máy làm việc song song.</translation>
    </message>
    <message>
        <source>What a token takes on each machine</source>
        <translation>Một token mất bao lâu trên mỗi máy</translation>
    </message>
    <message>
        <source>Choose a machine first</source>
        <translation>Trước hết hãy chọn một máy</translation>
    </message>
    <message>
        <source>Drain</source>
        <translation>Rút</translation>
    </message>
    <message>
        <source>Its experts run here again; it stays paired</source>
        <translation>Các chuyên gia của máy đó lại chạy ở đây; máy vẫn được ghép đôi</translation>
    </message>
    <message>
        <source>Its memory and its processor are used for experts of the model</source>
        <translation>Bộ nhớ và bộ xử lý của máy đó được dùng cho chuyên gia của mô hình</translation>
    </message>
    <message>
        <source>Measures latency and rate, for about a second</source>
        <translation>Đo độ trễ và tốc độ trong khoảng một giây</translation>
    </message>
    <message>
        <source>Forgets it and its key</source>
        <translation>Quên máy đó và khóa của nó</translation>
    </message>
    <message>
        <source>What the experts are counted by</source>
        <translation>Các chuyên gia được đếm theo gì</translation>
    </message>
    <message>
        <source>What the forecasts are of</source>
        <translation>Dự báo của những gì</translation>
    </message>
    <message>
        <source>Who makes the steps now</source>
        <translation>Hiện ai thực hiện các bước</translation>
    </message>
    <message>
        <source>Automatic</source>
        <translation>Tự động</translation>
    </message>
    <message>
        <source>Desktop and helpers</source>
        <translation>Máy này và máy giúp</translation>
    </message>
    <message>
        <source>Every machine makes each step</source>
        <translation>Mọi máy thực hiện từng bước</translation>
    </message>
    <message>
        <source>Who makes the steps</source>
        <translation>Ai thực hiện các bước</translation>
    </message>
    <message>
        <source>Desktop and helpers: this machine makes each step, and sends the others what their experts compute with; two messages for a layer, there and back.
Every machine makes each step: attention is computed on all of them, and of each layer every machine sends the others what its experts gave; one message.
Automatic: what is forecast to be faster, by what links, experts and steps were measured to take.</source>
        <translation>Máy này và máy giúp: máy này thực hiện mọi bước và gửi cho các máy khác dữ liệu để chuyên gia của chúng tính; mỗi lớp hai tin nhắn, đi và về.
Mọi máy thực hiện từng bước: attention được tính trên mọi máy, và ở mỗi lớp mỗi máy gửi cho các máy khác kết quả chuyên gia của mình; một tin nhắn.
Tự động: cách được dự báo nhanh hơn, theo thời gian đo được của kết nối, chuyên gia và các bước.</translation>
    </message>
    <message>
        <source>A token&apos;s time on this machine in both shapes</source>
        <translation>Thời gian của một token trên máy này theo cả hai cách</translation>
    </message>
    <message>
        <source>A token&apos;s time in both shapes, forecast</source>
        <translation>Thời gian của một token theo cả hai cách, dự báo</translation>
    </message>
    <message>
        <source>forecast of both shapes</source>
        <translation>dự báo của cả hai cách</translation>
    </message>
    <message>
        <source>Forecast when machines are connected to.</source>
        <translation>Được dự báo khi kết nối với các máy.</translation>
    </message>
    <message>
        <source>Steps</source>
        <translation>Các bước</translation>
    </message>
    <message>
        <source>It counts from the end of this answer on.</source>
        <translation>Có hiệu lực từ khi câu trả lời này kết thúc.</translation>
    </message>
    <message>
        <source>Desktop and helpers, forecast</source>
        <translation>Máy này và máy giúp, dự báo</translation>
    </message>
    <message>
        <source>Every machine, forecast</source>
        <translation>Mọi máy, dự báo</translation>
    </message>
    <message>
        <source>Every machine, measured</source>
        <translation>Mọi máy, đo được</translation>
    </message>
    <message>
        <source>Desktop and helpers, measured</source>
        <translation>Máy này và máy giúp, đo được</translation>
    </message>
    <message>
        <source>Where every machine makes each step, each computes its share</source>
        <translation>Khi mọi máy thực hiện từng bước, mỗi máy tính phần của mình</translation>
    </message>
    <message>
        <source>What a token takes, measured: mean of the last %1. Machines work side by side; of the others their experts are counted.</source>
        <translation>Một token mất bao lâu, đo được: trung bình của %1 token gần nhất. Các máy làm việc song song; với các máy khác chỉ tính chuyên gia của chúng.</translation>
    </message>
    <message>
        <source>Experts that each machine computes in every step</source>
        <translation>Chuyên gia mà mỗi máy tính trong mọi bước</translation>
    </message>
</context>
<context>
    <name>offstage::ui::MainMenu</name>
    <message>
        <source>&amp;File</source>
        <translation>&amp;Tệp</translation>
    </message>
    <message>
        <source>&amp;New conversation</source>
        <translation>&amp;Cuộc trò chuyện mới</translation>
    </message>
    <message>
        <source>&amp;Open model…</source>
        <translation>&amp;Mở mô hình…</translation>
    </message>
    <message>
        <source>Open with o&amp;ptions…</source>
        <translation>Mở với &amp;tùy chọn…</translation>
    </message>
    <message>
        <source>Ctrl+Shift+O</source>
        <translation>Ctrl+Shift+O</translation>
    </message>
    <message>
        <source>&amp;Local server…</source>
        <translation>Máy chủ cục &amp;bộ…</translation>
    </message>
    <message>
        <source>&amp;Quit</source>
        <translation>Th&amp;oát</translation>
    </message>
    <message>
        <source>Ctrl+Q</source>
        <translation>Ctrl+Q</translation>
    </message>
    <message>
        <source>&amp;Edit</source>
        <translation>&amp;Sửa</translation>
    </message>
    <message>
        <source>&amp;Copy</source>
        <translation>&amp;Sao chép</translation>
    </message>
    <message>
        <source>Copy the whole con&amp;versation</source>
        <translation>Sao chép cả cuộc trò chu&amp;yện</translation>
    </message>
    <message>
        <source>Ctrl+Shift+C</source>
        <translation>Ctrl+Shift+C</translation>
    </message>
    <message>
        <source>&amp;Find in this conversation…</source>
        <translation>&amp;Tìm trong cuộc trò chuyện này…</translation>
    </message>
    <message>
        <source>&amp;Stop</source>
        <translation>&amp;Dừng</translation>
    </message>
    <message>
        <source>Se&amp;ttings…</source>
        <translation>&amp;Cài đặt…</translation>
    </message>
    <message>
        <source>&amp;Conversation</source>
        <translation>&amp;Cuộc trò chuyện</translation>
    </message>
    <message>
        <source>&amp;Rename</source>
        <translation>Đổi &amp;tên</translation>
    </message>
    <message>
        <source>&amp;Pinned</source>
        <translation>Đã &amp;ghim</translation>
    </message>
    <message>
        <source>&amp;Archived</source>
        <translation>Đã &amp;lưu trữ</translation>
    </message>
    <message>
        <source>&amp;Export…</source>
        <translation>&amp;Xuất…</translation>
    </message>
    <message>
        <source>&amp;Delete</source>
        <translation>Xó&amp;a</translation>
    </message>
    <message>
        <source>Export a&amp;ll conversations…</source>
        <translation>Xuất &amp;mọi cuộc trò chuyện…</translation>
    </message>
    <message>
        <source>&amp;Import conversations…</source>
        <translation>&amp;Nhập cuộc trò chuyện…</translation>
    </message>
    <message>
        <source>&amp;View</source>
        <translation>&amp;Xem</translation>
    </message>
    <message>
        <source>&amp;Command palette…</source>
        <translation>&amp;Bảng lệnh…</translation>
    </message>
    <message>
        <source>Ctrl+K</source>
        <translation>Ctrl+K</translation>
    </message>
    <message>
        <source>&amp;Theme</source>
        <translation>&amp;Giao diện</translation>
    </message>
    <message>
        <source>As the &amp;system</source>
        <translation>Theo &amp;hệ thống</translation>
    </message>
    <message>
        <source>&amp;Light</source>
        <translation>&amp;Sáng</translation>
    </message>
    <message>
        <source>&amp;Dark</source>
        <translation>&amp;Tối</translation>
    </message>
    <message>
        <source>&amp;Reset layout</source>
        <translation>Đặt &amp;lại bố cục</translation>
    </message>
    <message>
        <source>Te&amp;xt size</source>
        <translation>&amp;Cỡ chữ</translation>
    </message>
    <message>
        <source>&amp;Larger</source>
        <translation>&amp;Lớn hơn</translation>
    </message>
    <message>
        <source>&amp;Smaller</source>
        <translation>&amp;Nhỏ hơn</translation>
    </message>
    <message>
        <source>&amp;As the system</source>
        <translation>&amp;Theo hệ thống</translation>
    </message>
    <message>
        <source>Ctrl+0</source>
        <translation>Ctrl+0</translation>
    </message>
    <message>
        <source>&amp;Language</source>
        <translation>&amp;Ngôn ngữ</translation>
    </message>
    <message>
        <source>As the s&amp;ystem</source>
        <translation>Theo &amp;hệ thống</translation>
    </message>
    <message>
        <source>The language changes when Offstage starts again.</source>
        <translation>Ngôn ngữ sẽ thay đổi khi Offstage khởi động lại.</translation>
    </message>
    <message>
        <source>&amp;Help</source>
        <translation>Trợ &amp;giúp</translation>
    </message>
    <message>
        <source>&amp;First steps</source>
        <translation>&amp;Bước đầu</translation>
    </message>
    <message>
        <source>&amp;Keys</source>
        <translation>&amp;Phím</translation>
    </message>
    <message>
        <source>&amp;About Offstage</source>
        <translation>&amp;Giới thiệu về Offstage</translation>
    </message>
    <message>
        <source>Stop the answer</source>
        <translation>Dừng câu trả lời</translation>
    </message>
    <message>
        <source>Stop the answer (%1)</source>
        <translation>Dừng câu trả lời (%1)</translation>
    </message>
    <message>
        <source>About Offstage</source>
        <translation>Giới thiệu về Offstage</translation>
    </message>
    <message>
        <source>Offstage %1</source>
        <translation>Offstage %1</translation>
    </message>
    <message>
        <source>Copy the last &amp;answer</source>
        <translation>Chép câu trả &amp;lời cuối</translation>
    </message>
    <message>
        <source>Ctrl+Shift+A</source>
        <translation>Ctrl+Shift+A</translation>
    </message>
    <message>
        <source>&amp;Next conversation</source>
        <translation>Cuộc trò chuyện &amp;sau</translation>
    </message>
    <message>
        <source>Ctrl+PgDown</source>
        <translation>Ctrl+PgDown</translation>
    </message>
    <message>
        <source>Pre&amp;vious conversation</source>
        <translation>Cuộc trò chuyện t&amp;rước</translation>
    </message>
    <message>
        <source>Ctrl+PgUp</source>
        <translation>Ctrl+PgUp</translation>
    </message>
    <message>
        <source>An&amp;swer again</source>
        <translation>Trả lời lạ&amp;i</translation>
    </message>
    <message>
        <source>Ctrl+R</source>
        <translation>Ctrl+R</translation>
    </message>
    <message>
        <source>Edit the last &amp;message</source>
        <translation>Sửa tin nhắn &amp;cuối</translation>
    </message>
    <message>
        <source>Ctrl+Shift+E</source>
        <translation>Ctrl+Shift+E</translation>
    </message>
    <message>
        <source>Settings › Appearance</source>
        <translation>Thiết lập › Giao diện</translation>
    </message>
    <message>
        <source>theme, dark, light, colours, text size, font, language</source>
        <translation>giao diện, tối, sáng, màu, cỡ chữ, phông, ngôn ngữ</translation>
    </message>
    <message>
        <source>Settings › Keys</source>
        <translation>Thiết lập › Phím</translation>
    </message>
    <message>
        <source>shortcuts, keyboard, hotkeys</source>
        <translation>phím tắt, bàn phím</translation>
    </message>
    <message>
        <source>Settings › Memory</source>
        <translation>Thiết lập › Bộ nhớ</translation>
    </message>
    <message>
        <source>context kept, conversations, RAM, KV cache</source>
        <translation>ngữ cảnh được giữ, cuộc trò chuyện, RAM, KV cache</translation>
    </message>
    <message>
        <source>Settings › Local server</source>
        <translation>Thiết lập › Máy chủ cục bộ</translation>
    </message>
    <message>
        <source>API, OpenAI, port, address, HTTP</source>
        <translation>API, OpenAI, cổng, địa chỉ, HTTP</translation>
    </message>
    <message>
        <source>Settings › Storage</source>
        <translation>Thiết lập › Lưu trữ</translation>
    </message>
    <message>
        <source>folders, model folders, cache, disk, history, delete</source>
        <translation>thư mục, thư mục mô hình, bộ đệm, đĩa, lịch sử, xóa</translation>
    </message>
    <message>
        <source>creativity, randomness, top-k, min-p, repetition penalty, beam, longest answer, max tokens, thinking</source>
        <translation>sáng tạo, ngẫu nhiên, top-k, min-p, phạt lặp, beam, câu trả lời dài nhất, token, suy nghĩ</translation>
    </message>
    <message>
        <source>Budget › Memory, context and quality</source>
        <translation>Ngân sách › Bộ nhớ, ngữ cảnh và chất lượng</translation>
    </message>
    <message>
        <source>VRAM, RAM, GPU memory, context length, offload layers, quantization, bits, KV cache, experts</source>
        <translation>VRAM, RAM, bộ nhớ GPU, độ dài ngữ cảnh, lượng tử hóa, bit, KV cache, chuyên gia</translation>
    </message>
    <message>
        <source>chat, start, clear</source>
        <translation>chat, bắt đầu, mới</translation>
    </message>
    <message>
        <source>load, file, GGUF, folder, switch model, change model</source>
        <translation>nạp, tệp, GGUF, thư mục, đổi mô hình</translation>
    </message>
    <message>
        <source>load, context, device, GPU, quantization</source>
        <translation>nạp, ngữ cảnh, thiết bị, GPU, lượng tử hóa</translation>
    </message>
    <message>
        <source>API, OpenAI, port, serve</source>
        <translation>API, OpenAI, cổng, phục vụ</translation>
    </message>
    <message>
        <source>exit, close</source>
        <translation>thoát, đóng</translation>
    </message>
    <message>
        <source>clipboard, Markdown</source>
        <translation>bảng tạm, Markdown</translation>
    </message>
    <message>
        <source>clipboard, reply, response</source>
        <translation>bảng tạm, phản hồi</translation>
    </message>
    <message>
        <source>search</source>
        <translation>tìm kiếm</translation>
    </message>
    <message>
        <source>cancel, interrupt, halt</source>
        <translation>hủy, ngắt, dừng</translation>
    </message>
    <message>
        <source>preferences, options, configuration</source>
        <translation>tùy chọn, cấu hình</translation>
    </message>
    <message>
        <source>title, name</source>
        <translation>tiêu đề, tên</translation>
    </message>
    <message>
        <source>save, Markdown, JSON, download</source>
        <translation>lưu, Markdown, JSON</translation>
    </message>
    <message>
        <source>save, backup, JSON, download</source>
        <translation>lưu, sao lưu, JSON</translation>
    </message>
    <message>
        <source>load, restore, JSON</source>
        <translation>nạp, khôi phục, JSON</translation>
    </message>
    <message>
        <source>remove, erase</source>
        <translation>bỏ, xóa</translation>
    </message>
    <message>
        <source>retry, redo, try again, another answer</source>
        <translation>thử lại, câu trả lời khác</translation>
    </message>
    <message>
        <source>change, correct, prompt</source>
        <translation>đổi, sửa, lời nhắc</translation>
    </message>
    <message>
        <source>logits, logprobs, alternatives</source>
        <translation>logits, logprobs, phương án khác</translation>
    </message>
    <message>
        <source>night, black, appearance</source>
        <translation>đêm, đen, giao diện</translation>
    </message>
    <message>
        <source>day, white, appearance</source>
        <translation>ngày, trắng, giao diện</translation>
    </message>
    <message>
        <source>English</source>
        <translation>tiếng Anh, English</translation>
    </message>
    <message>
        <source>German</source>
        <translation>tiếng Đức, German</translation>
    </message>
    <message>
        <source>Vietnamese</source>
        <translation>tiếng Việt, Vietnamese</translation>
    </message>
    <message>
        <source>zoom in, font size, bigger</source>
        <translation>phóng to, cỡ chữ</translation>
    </message>
    <message>
        <source>zoom out, font size</source>
        <translation>thu nhỏ, cỡ chữ</translation>
    </message>
    <message>
        <source>panels, windows, default</source>
        <translation>bảng, cửa sổ, mặc định</translation>
    </message>
    <message>
        <source>heat map, router, routing</source>
        <translation>bản đồ nhiệt, router, định tuyến</translation>
    </message>
    <message>
        <source>hit rate, copies, policy</source>
        <translation>tỉ lệ trúng, bản chép, chính sách</translation>
    </message>
    <message>
        <source>timeline, CPU, GPU, layers</source>
        <translation>dòng thời gian, CPU, GPU, lớp</translation>
    </message>
    <message>
        <source>memory, VRAM, RAM, context, quantization</source>
        <translation>bộ nhớ, VRAM, RAM, ngữ cảnh, lượng tử hóa</translation>
    </message>
    <message>
        <source>forecast, hardware, buy, upgrade</source>
        <translation>dự báo, phần cứng, mua, nâng cấp</translation>
    </message>
    <message>
        <source>network, nodes, cluster, pair</source>
        <translation>mạng, nút, cụm, ghép đôi</translation>
    </message>
    <message>
        <source>speed, tokens per second, measure, compare</source>
        <translation>tốc độ, token mỗi giây, đo, so sánh</translation>
    </message>
    <message>
        <source>events, connections, errors</source>
        <translation>sự kiện, kết nối, lỗi</translation>
    </message>
    <message>
        <source>temperature, top-p, seed, system prompt</source>
        <translation>nhiệt độ, top-p, hạt giống, lời nhắc hệ thống</translation>
    </message>
    <message>
        <source>chats, history, list</source>
        <translation>chat, lịch sử, danh sách</translation>
    </message>
    <message>
        <source>Move to &amp;folder</source>
        <translation>Chuyển &amp;vào thư mục</translation>
    </message>
    <message>
        <source>New f&amp;older</source>
        <translation>T&amp;hư mục mới</translation>
    </message>
    <message>
        <source>Settings › Conversations</source>
        <translation>Thiết lập › Cuộc trò chuyện</translation>
    </message>
    <message>
        <source>start, last conversation, reopen, titles, names</source>
        <translation>khởi động, cuộc trò chuyện gần nhất, mở lại, tiêu đề, tên</translation>
    </message>
    <message>
        <source>Instructions and sampling › System prompt</source>
        <translation>Chỉ dẫn và lấy mẫu › Lời nhắc hệ thống</translation>
    </message>
    <message>
        <source>persona, role, character</source>
        <translation>vai, nhân vật, tính cách</translation>
    </message>
    <message>
        <source>Instructions and sampling › Temperature, top-p, seed</source>
        <translation>Chỉ dẫn và lấy mẫu › Nhiệt độ, top-p, hạt giống</translation>
    </message>
    <message>
        <source>group, category, project</source>
        <translation>nhóm, phân loại, dự án</translation>
    </message>
    <message>
        <source>perplexity, uncertain, surprise</source>
        <translation>độ bối rối, không chắc chắn, bất ngờ</translation>
    </message>
    <message>
        <source>What &amp;runs here…</source>
        <translation>Cái &amp;gì chạy được ở đây…</translation>
    </message>
    <message>
        <source>suggest, catalogue, which model, download</source>
        <translation>gợi ý, danh mục, mô hình nào, tải về</translation>
    </message>
    <message>
        <source>Chat with Mixture-of-Experts models that do not fit into the GPU&apos;s memory, and see which experts are called. Everything runs on this computer; nothing is sent anywhere but to machines that you add and to the hub of a model that you ask for.

Apache License 2.0. Uses Qt %1 (LGPL) and cmark-gfm (BSD).</source>
        <translation>Trò chuyện với các mô hình Mixture-of-Experts không vừa bộ nhớ của GPU, và xem những chuyên gia nào được gọi. Mọi thứ chạy trên máy tính này; không có gì được gửi đi đâu, trừ đến các máy mà bạn thêm và đến hub của mô hình mà bạn yêu cầu.

Giấy phép Apache 2.0. Dùng Qt %1 (LGPL) và cmark-gfm (BSD).</translation>
    </message>
</context>
<context>
    <name>offstage::ui::MainToolBar</name>
    <message>
        <source>Main tool bar</source>
        <translation>Thanh công cụ chính</translation>
    </message>
    <message>
        <source>Panels</source>
        <translation>Bảng</translation>
    </message>
    <message>
        <source>Open one of the panels: budgets, experts, forecasts and more</source>
        <translation>Mở một trong các bảng: ngân sách, chuyên gia, dự báo và hơn nữa</translation>
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
        <translation>Vai</translation>
    </message>
</context>
<context>
    <name>offstage::ui::MemoryPage</name>
    <message>
        <source>&amp;Keep room for other conversations</source>
        <translation>&amp;Giữ chỗ cho các cuộc trò chuyện khác</translation>
    </message>
    <message>
        <source>What is in force</source>
        <translation>Điều đang áp dụng</translation>
    </message>
    <message>
        <source>What was read of a conversation stays in memory while there is room, so that going back to it does not read it again. Without room of their own, the others have what the running conversation leaves of its context.</source>
        <translation>Những gì đã đọc của một cuộc trò chuyện ở lại trong bộ nhớ chừng nào còn chỗ, để khi quay lại không phải đọc lại. Nếu không có chỗ riêng, các cuộc khác dùng phần ngữ cảnh mà cuộc đang chạy chừa lại.</translation>
    </message>
    <message>
        <source>&amp;Tokens</source>
        <translation>&amp;Token</translation>
    </message>
    <message>
        <source>Tokens of other conversations that are kept</source>
        <translation>Số token của các cuộc trò chuyện khác được giữ lại</translation>
    </message>
    <message>
        <source>No model is open. The next one is opened with what is chosen here.</source>
        <translation>Chưa mở mô hình nào. Mô hình kế tiếp được mở với lựa chọn ở đây.</translation>
    </message>
    <message>
        <source>In force now: room for %1 tokens, which takes %2 of memory.</source>
        <translation>Đang áp dụng: chỗ cho %1 token, chiếm %2 bộ nhớ.</translation>
    </message>
    <message>
        <source>In force now: no room of their own, which takes no memory.</source>
        <translation>Đang áp dụng: không có chỗ riêng, không chiếm bộ nhớ.</translation>
    </message>
    <message>
        <source>Nothing of other conversations is kept at the moment.</source>
        <translation>Hiện không giữ gì của các cuộc trò chuyện khác.</translation>
    </message>
    <message numerus="yes">
        <source>Kept at the moment: %1 tokens of %n conversation(s).</source>
        <translation>
            <numerusform>Hiện đang giữ: %1 token của %n cuộc trò chuyện.</numerusform>
        </translation>
    </message>
    <message>
        <source>Your choice is being carried out…</source>
        <translation>Đang thực hiện lựa chọn của bạn…</translation>
    </message>
    <message>
        <source>Your choice could not be carried out: %1</source>
        <translation>Không thực hiện được lựa chọn của bạn: %1</translation>
    </message>
    <message>
        <source>Your choice counts for the next model that is opened.</source>
        <translation>Lựa chọn của bạn áp dụng cho mô hình được mở kế tiếp.</translation>
    </message>
</context>
<context>
    <name>offstage::ui::MessageAttachments</name>
    <message>
        <source>Text of %1</source>
        <translation>Văn bản của %1</translation>
    </message>
</context>
<context>
    <name>offstage::ui::MessageBody</name>
    <message>
        <source>Copy</source>
        <translation>Sao chép</translation>
    </message>
    <message>
        <source>Copy this code</source>
        <translation>Sao chép đoạn mã này</translation>
    </message>
    <message>
        <source>text</source>
        <translation>văn bản</translation>
    </message>
    <message>
        <source>&amp;Copy</source>
        <translation>&amp;Sao chép</translation>
    </message>
    <message>
        <source>Copy the whole &amp;message</source>
        <translation>Sao chép cả &amp;tin nhắn</translation>
    </message>
    <message>
        <source>Copy the &amp;link</source>
        <translation>Sao chép &amp;liên kết</translation>
    </message>
    <message>
        <source>Select &amp;all</source>
        <translation>Chọ&amp;n tất cả</translation>
    </message>
    <message>
        <source>Show its &amp;experts</source>
        <translation>Hiện các &amp;chuyên gia của nó</translation>
    </message>
</context>
<context>
    <name>offstage::ui::MessageEditor</name>
    <message>
        <source>Send as a new branch</source>
        <translation>Gửi thành nhánh mới</translation>
    </message>
    <message>
        <source>Edit your message</source>
        <translation>Sửa tin nhắn của bạn</translation>
    </message>
    <message>
        <source>Leave the message as it was</source>
        <translation>Giữ tin nhắn như cũ</translation>
    </message>
    <message>
        <source>Esc</source>
        <translation>Esc</translation>
    </message>
    <message>
        <source>What was there stays, as a branch of its own.</source>
        <translation>Nội dung cũ vẫn còn, trong một nhánh riêng.</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Hủy</translation>
    </message>
    <message>
        <source>Enter sends it as a new branch, Shift and Enter begins a new line, Esc leaves it as it was</source>
        <translation>Enter gửi nó thành một nhánh mới, Shift và Enter bắt đầu dòng mới, Esc giữ nguyên như cũ</translation>
    </message>
    <message>
        <source>Enter</source>
        <translation>Enter</translation>
    </message>
    <message>
        <source>Save as a new branch</source>
        <translation>Lưu thành nhánh mới</translation>
    </message>
    <message>
        <source>Edit the answer</source>
        <translation>Sửa câu trả lời</translation>
    </message>
    <message>
        <source>Ctrl and Enter saves it as a new branch, Esc leaves it as it was</source>
        <translation>Ctrl và Enter lưu nó thành một nhánh mới, Esc giữ nguyên như cũ</translation>
    </message>
    <message>
        <source>Ctrl+Enter</source>
        <translation>Ctrl+Enter</translation>
    </message>
</context>
<context>
    <name>offstage::ui::MessageFooter</name>
    <message>
        <source>Copy the whole message</source>
        <translation>Sao chép cả tin nhắn</translation>
    </message>
    <message>
        <source>Edit this message: a new branch</source>
        <translation>Sửa tin nhắn này: nhánh mới</translation>
    </message>
    <message>
        <source>Edit this answer: a new branch</source>
        <translation>Sửa câu trả lời này: nhánh mới</translation>
    </message>
    <message>
        <source>Answer again: a new branch</source>
        <translation>Trả lời lại: nhánh mới</translation>
    </message>
    <message>
        <source>Continue this answer</source>
        <translation>Viết tiếp câu trả lời này</translation>
    </message>
    <message>
        <source>Continue</source>
        <translation>Viết tiếp</translation>
    </message>
    <message>
        <source>Edited by you</source>
        <translation>Do bạn sửa</translation>
    </message>
    <message>
        <source>You have changed this answer. What it was before is another branch.</source>
        <translation>Bạn đã thay đổi câu trả lời này. Nội dung trước đó nằm ở một nhánh khác.</translation>
    </message>
    <message>
        <source>The branch before</source>
        <translation>Nhánh trước</translation>
    </message>
    <message>
        <source>The next branch</source>
        <translation>Nhánh tiếp theo</translation>
    </message>
    <message>
        <source>%1/%2</source>
        <translation>%1/%2</translation>
    </message>
    <message>
        <source>Branch %1 of %2</source>
        <translation>Nhánh %1 trên %2</translation>
    </message>
    <message>
        <source>Figures of this answer: %1</source>
        <translation>Số liệu của câu trả lời này: %1</translation>
    </message>
    <message>
        <source>%1
Click for the timeline of its tokens</source>
        <translation>%1
Nhấp để xem dòng thời gian các token của nó</translation>
    </message>
    <message>
        <source>Open this page of the help</source>
        <translation>Mở trang trợ giúp này</translation>
    </message>
    <message>
        <source>Read the page</source>
        <translation>Đọc trang</translation>
    </message>
    <message>
        <source>Let the model answer this: a new branch</source>
        <translation>Để mô hình trả lời: một nhánh mới</translation>
    </message>
    <message>
        <source>Ask the model anyway</source>
        <translation>Vẫn hỏi mô hình</translation>
    </message>
    <message>
        <source>The model sees neither this nor the question</source>
        <translation>Mô hình không thấy cả câu này lẫn câu hỏi</translation>
    </message>
    <message>
        <source>%1
Simulated: what the emulated device would reach, worked out from its datasheet; the text came at another speed here.
Click for the timeline of its tokens</source>
        <translation>%1
Mô phỏng: tốc độ mà thiết bị giả lập sẽ đạt, tính theo thông số kỹ thuật; ở đây văn bản đến với tốc độ khác.
Nhấp để xem dòng thời gian của các token</translation>
    </message>
</context>
<context>
    <name>offstage::ui::MessageWidget</name>
    <message>
        <source>Your message</source>
        <translation>Tin nhắn của bạn</translation>
    </message>
    <message>
        <source>Answer</source>
        <translation>Câu trả lời</translation>
    </message>
    <message>
        <source>Edit this message: a new branch</source>
        <translation>Sửa tin nhắn này: nhánh mới</translation>
    </message>
    <message>
        <source>Edit this answer: a new branch</source>
        <translation>Sửa câu trả lời này: nhánh mới</translation>
    </message>
    <message>
        <source>Answer, edited by you</source>
        <translation>Câu trả lời, do bạn sửa</translation>
    </message>
    <message>
        <source>The model no longer sees what stands above.</source>
        <translation>Mô hình không còn thấy những gì ở phía trên.</translation>
    </message>
    <message>
        <source>The model no longer sees what stands above, but this summary of it:</source>
        <translation>Mô hình không còn thấy những gì ở phía trên mà chỉ thấy bản tóm tắt này:</translation>
    </message>
    <message>
        <source>Answer from the help</source>
        <translation>Câu trả lời từ phần trợ giúp</translation>
    </message>
</context>
<context>
    <name>offstage::ui::ModelMenu</name>
    <message>
        <source>&amp;Models</source>
        <translation>Mô &amp;hình</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>Mô hình</translation>
    </message>
    <message>
        <source>Open a &amp;file…</source>
        <translation>Mở &amp;tệp…</translation>
    </message>
    <message>
        <source>Open with o&amp;ptions…</source>
        <translation>Mở với tù&amp;y chọn…</translation>
    </message>
    <message>
        <source>&amp;Clear the list of recent models</source>
        <translation>&amp;Xóa danh sách mô hình gần đây</translation>
    </message>
    <message>
        <source>%1 (missing)</source>
        <translation>%1 (không còn)</translation>
    </message>
    <message>
        <source>Opened lately</source>
        <translation>Mở gần đây</translation>
    </message>
    <message>
        <source>Demo model</source>
        <translation>Mô hình demo</translation>
    </message>
    <message>
        <source>Found on this computer</source>
        <translation>Tìm thấy trên máy này</translation>
    </message>
    <message>
        <source>Loading…</source>
        <translation>Đang nạp…</translation>
    </message>
    <message>
        <source>No model</source>
        <translation>Không có mô hình</translation>
    </message>
    <message>
        <source>Click for other models</source>
        <translation>Bấm để chọn mô hình khác</translation>
    </message>
    <message>
        <source>What &amp;runs here…</source>
        <translation>Cái &amp;gì chạy được ở đây…</translation>
    </message>
    <message>
        <source>%1 (needs a chat template)</source>
        <translation>%1 (cần mẫu trò chuyện)</translation>
    </message>
    <message>
        <source>Open a fol&amp;der…</source>
        <translation>Mở t&amp;hư mục…</translation>
    </message>
</context>
<context>
    <name>offstage::ui::ModelOpener</name>
    <message>
        <source>“%1” could not be opened</source>
        <translation>Không mở được “%1”</translation>
    </message>
    <message>
        <source>The model that is open stays open.</source>
        <translation>Mô hình đang mở vẫn được giữ nguyên.</translation>
    </message>
    <message>
        <source>Looking at the files of “%1”…</source>
        <translation>Đang xem các tệp của “%1”…</translation>
    </message>
    <message>
        <source>Loading “%1” was cancelled</source>
        <translation>Đã hủy việc nạp “%1”</translation>
    </message>
    <message>
        <source>No model is open now.</source>
        <translation>Hiện không có mô hình nào đang mở.</translation>
    </message>
    <message>
        <source>the model %1</source>
        <translation>mô hình %1</translation>
    </message>
    <message>
        <source>“%1” is on this computer now</source>
        <translation>“%1” giờ đã có trên máy này</translation>
    </message>
    <message>
        <source>“%1” has no chat template</source>
        <translation>“%1” không có mẫu trò chuyện</translation>
    </message>
    <message>
        <source>Without one messages cannot be written for it. Choose that of its family, or a file.</source>
        <translation>Thiếu mẫu thì không viết được tin nhắn cho nó. Hãy chọn mẫu của họ mô hình, hoặc một tệp.</translation>
    </message>
    <message numerus="yes">
        <source>%n download(s) can be resumed: File › What runs here › Downloads</source>
        <translation>
            <numerusform>Có thể tiếp tục %n lượt tải: Tệp › Cái gì chạy được ở đây › Tải về</numerusform>
        </translation>
    </message>
    <message>
        <source>Close Offstage</source>
        <translation>Đóng Offstage</translation>
    </message>
    <message>
        <source>%1 is still being downloaded.</source>
        <translation>%1 vẫn đang được tải xuống.</translation>
    </message>
    <message numerus="yes">
        <source>%n model(s) are still being downloaded.</source>
        <translation>
            <numerusform>%n mô hình vẫn đang được tải xuống.</numerusform>
        </translation>
    </message>
    <message>
        <source>%1 of %2 have come.</source>
        <translation>Đã tải được %1 trên %2.</translation>
    </message>
    <message>
        <source>Closing pauses this. What has come is kept, and the next start can resume it.</source>
        <translation>Đóng sẽ tạm dừng việc này. Phần đã tải được giữ lại, và lần khởi động sau có thể tải tiếp.</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>Đóng</translation>
    </message>
    <message>
        <source>Keep downloading</source>
        <translation>Tiếp tục tải</translation>
    </message>
</context>
<context>
    <name>offstage::ui::OpenModelDialog</name>
    <message>
        <source>&amp;Open</source>
        <translation>&amp;Mở</translation>
    </message>
    <message>
        <source>Open a model with options</source>
        <translation>Mở mô hình với tùy chọn</translation>
    </message>
    <message>
        <source>&amp;Model</source>
        <translation>Mô &amp;hình</translation>
    </message>
    <message>
        <source>Load the model this way</source>
        <translation>Nạp mô hình theo cách này</translation>
    </message>
    <message>
        <source>Folder or file of the model</source>
        <translation>Thư mục hoặc tệp của mô hình</translation>
    </message>
    <message>
        <source>GGUF file, or folder with config.json and *.safetensors</source>
        <translation>Tệp GGUF, hoặc thư mục có config.json và *.safetensors</translation>
    </message>
    <message>
        <source>Choose a GGUF file, or the config.json of a model&apos;s folder</source>
        <translation>Chọn một tệp GGUF, hoặc tệp config.json trong thư mục của mô hình</translation>
    </message>
    <message>
        <source>Open a model</source>
        <translation>Mở một mô hình</translation>
    </message>
    <message>
        <source>Models (%1)</source>
        <translation>Mô hình (%1)</translation>
    </message>
    <message>
        <source>All files (%1)</source>
        <translation>Tất cả tệp (%1)</translation>
    </message>
    <message>
        <source>&amp;File…</source>
        <translation>Tệ&amp;p…</translation>
    </message>
    <message>
        <source>Fo&amp;lder…</source>
        <translation>Thư mụ&amp;c…</translation>
    </message>
    <message>
        <source>Choose the folder of a model as published: config.json and *.safetensors</source>
        <translation>Chọn thư mục của một mô hình như khi được phát hành: config.json và *.safetensors</translation>
    </message>
    <message>
        <source>Open the folder of a model</source>
        <translation>Mở thư mục của một mô hình</translation>
    </message>
</context>
<context>
    <name>offstage::ui::PairDialog</name>
    <message>
        <source>&amp;Use it from now on</source>
        <translation>&amp;Dùng từ bây giờ</translation>
    </message>
    <message>
        <source>What came of it</source>
        <translation>Kết quả</translation>
    </message>
    <message>
        <source>Add a machine</source>
        <translation>Thêm một máy</translation>
    </message>
    <message>
        <source>On the other machine, offstage-node pair shows an address and eight words. Type them here: the two machines then know each other&apos;s keys.</source>
        <translation>Trên máy kia, offstage-node pair hiển thị một địa chỉ và tám từ. Hãy gõ chúng vào đây: sau đó hai máy biết khóa của nhau.</translation>
    </message>
    <message>
        <source>Address of the other machine</source>
        <translation>Địa chỉ của máy kia</translation>
    </message>
    <message>
        <source>cupboard or 192.168.1.7:7421</source>
        <translation>tu-bep hoặc 192.168.1.7:7421</translation>
    </message>
    <message>
        <source>Its name or number in your network, as offstage-node pair shows it</source>
        <translation>Tên hoặc số của máy trong mạng của bạn, như offstage-node pair hiển thị</translation>
    </message>
    <message>
        <source>The eight words</source>
        <translation>Tám từ</translation>
    </message>
    <message>
        <source>eight words with spaces between them</source>
        <translation>tám từ cách nhau bằng dấu cách</translation>
    </message>
    <message>
        <source>The words that offstage-node pair shows at this moment. They are good for one pair</source>
        <translation>Các từ mà offstage-node pair đang hiển thị lúc này. Chúng dùng cho một lần ghép đôi</translation>
    </message>
    <message>
        <source>What to call it here</source>
        <translation>Tên gọi ở đây</translation>
    </message>
    <message>
        <source>its own name</source>
        <translation>tên của chính nó</translation>
    </message>
    <message>
        <source>What to call it here; without a name it keeps its own</source>
        <translation>Tên gọi ở đây; không có tên thì máy giữ tên của nó</translation>
    </message>
    <message>
        <source>Experts of the model that is open, and of later ones, are computed there, too</source>
        <translation>Chuyên gia của mô hình đang mở và của các mô hình sau cũng được tính ở đó</translation>
    </message>
    <message>
        <source>Pairing is under way</source>
        <translation>Đang ghép đôi</translation>
    </message>
    <message>
        <source>&amp;Address</source>
        <translation>Đị&amp;a chỉ</translation>
    </message>
    <message>
        <source>&amp;Words</source>
        <translation>&amp;Từ</translation>
    </message>
    <message>
        <source>&amp;Name</source>
        <translation>Tê&amp;n</translation>
    </message>
    <message>
        <source>&amp;Pair</source>
        <translation>&amp;Ghép đôi</translation>
    </message>
    <message>
        <source>Pairing was cancelled. Nothing was stored.</source>
        <translation>Đã hủy ghép đôi. Không lưu gì cả.</translation>
    </message>
    <message>
        <source>Connecting to %1…</source>
        <translation>Đang kết nối đến %1…</translation>
    </message>
    <message>
        <source>Cancelling…</source>
        <translation>Đang hủy…</translation>
    </message>
    <message>
        <source>Connects to the other machine once, and exchanges keys</source>
        <translation>Kết nối một lần đến máy kia và trao đổi khóa</translation>
    </message>
    <message>
        <source>The address is missing</source>
        <translation>Thiếu địa chỉ</translation>
    </message>
    <message>
        <source>A code has eight words; these are %1</source>
        <translation>Mã có tám từ; đây là %1</translation>
    </message>
</context>
<context>
    <name>offstage::ui::Panel</name>
    <message>
        <source>What happened</source>
        <translation>Điều đã xảy ra</translation>
    </message>
    <message>
        <source>Emulated device</source>
        <translation>Thiết bị giả lập</translation>
    </message>
    <message>
        <source>emulated</source>
        <translation>giả lập</translation>
    </message>
    <message>
        <source>What the panels cost</source>
        <translation>Chi phí của các bảng</translation>
    </message>
    <message>
        <source>emulated: %1</source>
        <translation>giả lập: %1</translation>
    </message>
    <message>
        <source>There is no such accelerator here: its memory is part of this computer&apos;s, and its times are worked out. They are no measurements.</source>
        <translation>Ở đây không có bộ tăng tốc này: bộ nhớ của nó là một phần bộ nhớ của máy tính này, còn thời gian thì được tính ra. Đó không phải là số đo.</translation>
    </message>
    <message>
        <source>Share of the answer&apos;s time that the engine spends on writing down what the panels show.
Working out what this panel shows takes %1 ms each time, in the window&apos;s own thread.</source>
        <translation>Tỷ lệ thời gian của câu trả lời mà bộ máy dùng để ghi lại những gì các bảng hiển thị.
Mỗi lần tính những gì bảng này hiển thị mất %1 ms, trong luồng riêng của cửa sổ.</translation>
    </message>
    <message>
        <source>Panels</source>
        <translation>Bảng</translation>
    </message>
    <message>
        <source>Panels cost %1 of speed</source>
        <translation>Các bảng tốn %1 tốc độ</translation>
    </message>
    <message>
        <source>Whose figures these are</source>
        <translation>Các số liệu này là của ai</translation>
    </message>
    <message>
        <source>Panels cost under %1 of speed</source>
        <translation>Các bảng tốn dưới %1 tốc độ</translation>
    </message>
</context>
<context>
    <name>offstage::ui::PanelDocks</name>
    <message>
        <source>Panels</source>
        <translation>Bảng</translation>
    </message>
    <message>
        <source>Conversations</source>
        <translation>Cuộc trò chuyện</translation>
    </message>
    <message>
        <source>Show or hide the conversations</source>
        <translation>Hiện hoặc ẩn danh sách cuộc trò chuyện</translation>
    </message>
    <message>
        <source>Experts</source>
        <translation>Chuyên gia</translation>
    </message>
    <message>
        <source>Show or hide the expert heat map</source>
        <translation>Hiện hoặc ẩn bản đồ nhiệt của chuyên gia</translation>
    </message>
    <message>
        <source>Cache</source>
        <translation>Bộ nhớ đệm</translation>
    </message>
    <message>
        <source>Show or hide hit rates and copies</source>
        <translation>Hiện hoặc ẩn tỷ lệ trúng và số lần sao chép</translation>
    </message>
    <message>
        <source>Dispatch</source>
        <translation>Phân công</translation>
    </message>
    <message>
        <source>Show or hide what CPU, copies and GPU do in each layer</source>
        <translation>Hiện hoặc ẩn việc của CPU, sao chép và GPU trong từng lớp</translation>
    </message>
    <message>
        <source>Budget</source>
        <translation>Hạn mức</translation>
    </message>
    <message>
        <source>Show or hide the memory budgets</source>
        <translation>Hiện hoặc ẩn hạn mức bộ nhớ</translation>
    </message>
    <message>
        <source>What if</source>
        <translation>Giả định</translation>
    </message>
    <message>
        <source>Show or hide forecasts for other hardware</source>
        <translation>Hiện hoặc ẩn dự báo cho phần cứng khác</translation>
    </message>
    <message>
        <source>Machines</source>
        <translation>Máy</translation>
    </message>
    <message>
        <source>Show or hide other machines that compute experts</source>
        <translation>Hiện hoặc ẩn các máy khác tính chuyên gia</translation>
    </message>
    <message>
        <source>Benchmark</source>
        <translation>Hiệu năng</translation>
    </message>
    <message>
        <source>Show or hide what answers took</source>
        <translation>Hiện hoặc ẩn thời gian của các câu trả lời</translation>
    </message>
    <message>
        <source>Log</source>
        <translation>Nhật ký</translation>
    </message>
    <message>
        <source>Show or hide what happened</source>
        <translation>Hiện hoặc ẩn những gì đã xảy ra</translation>
    </message>
    <message>
        <source>Instructions and sampling</source>
        <translation>Chỉ dẫn và lấy mẫu</translation>
    </message>
    <message>
        <source>Show or hide instructions (system prompt) and sampling</source>
        <translation>Hiện hoặc ẩn chỉ dẫn (lời nhắc hệ thống) và lấy mẫu</translation>
    </message>
</context>
<context>
    <name>offstage::ui::PanelRail</name>
    <message>
        <source>Opens below the conversation</source>
        <translation>Mở bên dưới cuộc trò chuyện</translation>
    </message>
</context>
<context>
    <name>offstage::ui::PasteOffer</name>
    <message>
        <source>Long text</source>
        <translation>Văn bản dài</translation>
    </message>
    <message>
        <source>Attach as a file</source>
        <translation>Đính kèm dưới dạng tệp</translation>
    </message>
    <message>
        <source>Keep as text</source>
        <translation>Giữ là văn bản</translation>
    </message>
    <message>
        <source>A long text (%1): attach it as a file?</source>
        <translation>Văn bản dài (%1): đính kèm dưới dạng tệp?</translation>
    </message>
</context>
<context>
    <name>offstage::ui::PersonaBar</name>
    <message>
        <source>Persona of this conversation</source>
        <translation>Vai của cuộc trò chuyện này</translation>
    </message>
    <message>
        <source>Persona: system prompt, sampling and model under a name</source>
        <translation>Vai: lời nhắc hệ thống, cách lấy mẫu và mô hình dưới một tên</translation>
    </message>
    <message>
        <source>&amp;Change it to what is set up now</source>
        <translation>Đổ&amp;i thành thiết lập hiện tại</translation>
    </message>
    <message>
        <source>&amp;Import personas…</source>
        <translation>&amp;Nhập vai…</translation>
    </message>
    <message>
        <source>&amp;Export my personas…</source>
        <translation>Xuất &amp;các vai của tôi…</translation>
    </message>
    <message>
        <source>Persona</source>
        <translation>Vai</translation>
    </message>
    <message>
        <source>None</source>
        <translation>Không</translation>
    </message>
    <message>
        <source>%1, changed</source>
        <translation>%1, đã đổi</translation>
    </message>
    <message>
        <source>%1 cannot be read: %2.</source>
        <translation>Không đọc được %1: %2.</translation>
    </message>
    <message numerus="yes">
        <source>%n persona(s) imported</source>
        <translation>
            <numerusform>Đã nhập %n vai</numerusform>
        </translation>
    </message>
    <message>
        <source>Saved as %1</source>
        <translation>Đã lưu thành %1</translation>
    </message>
    <message>
        <source>Import personas</source>
        <translation>Nhập vai</translation>
    </message>
    <message>
        <source>Personas (*.json)</source>
        <translation>Vai (*.json)</translation>
    </message>
    <message>
        <source>Export my personas</source>
        <translation>Xuất các vai của tôi</translation>
    </message>
    <message>
        <source>&amp;Bring back %1</source>
        <translation>Khôi &amp;phục %1</translation>
    </message>
    <message>
        <source>System prompt of this conversation</source>
        <translation>Lời nhắc hệ thống của cuộc trò chuyện này</translation>
    </message>
    <message>
        <source>System prompt: %1</source>
        <translation>Lời nhắc hệ thống: %1</translation>
    </message>
    <message>
        <source>This conversation&apos;s alone; click to change it</source>
        <translation>Chỉ cho cuộc trò chuyện này; bấm để đổi</translation>
    </message>
    <message>
        <source>Make, edit or delete a persona</source>
        <translation>Tạo, sửa hoặc xóa vai</translation>
    </message>
    <message>
        <source>&amp;New persona…</source>
        <translation>Vai &amp;mới…</translation>
    </message>
    <message>
        <source>Edi&amp;t…</source>
        <translation>&amp;Sửa…</translation>
    </message>
    <message>
        <source>&amp;Use for new conversations</source>
        <translation>&amp;Dùng cho cuộc trò chuyện mới</translation>
    </message>
</context>
<context>
    <name>offstage::ui::PersonaEditor</name>
    <message>
        <source>New persona</source>
        <translation>Vai mới</translation>
    </message>
    <message>
        <source>Edit a persona</source>
        <translation>Sửa vai</translation>
    </message>
    <message>
        <source>Name of the persona</source>
        <translation>Tên của vai</translation>
    </message>
    <message>
        <source>What every answer should heed</source>
        <translation>Điều mà mọi câu trả lời cần tuân theo</translation>
    </message>
    <message>
        <source>The model that is open (none is)</source>
        <translation>Mô hình đang mở (chưa có)</translation>
    </message>
    <message>
        <source>Offer %1</source>
        <translation>Đề nghị %1</translation>
    </message>
    <message>
        <source>Where another model is open, the window offers to open this one</source>
        <translation>Khi một mô hình khác đang mở, cửa sổ đề nghị mở mô hình này</translation>
    </message>
    <message>
        <source>&amp;Name</source>
        <translation>&amp;Tên</translation>
    </message>
    <message>
        <source>&amp;Instructions</source>
        <translation>&amp;Chỉ dẫn</translation>
    </message>
    <message>
        <source>&amp;Sampling</source>
        <translation>&amp;Lấy mẫu</translation>
    </message>
    <message>
        <source>&amp;Model</source>
        <translation>&amp;Mô hình</translation>
    </message>
    <message>
        <source>As the persona has it: temperature %1</source>
        <translation>Như vai đang có: nhiệt độ %1</translation>
    </message>
    <message>
        <source>As set up now: temperature %1</source>
        <translation>Như thiết lập hiện tại: nhiệt độ %1</translation>
    </message>
    <message>
        <source>The conversation&apos;s own</source>
        <translation>Của cuộc trò chuyện</translation>
    </message>
    <message>
        <source>Another persona has this name</source>
        <translation>Một vai khác đã có tên này</translation>
    </message>
    <message>
        <source>Not saved yet: close once more to drop the instructions</source>
        <translation>Chưa lưu: đóng lần nữa để bỏ các chỉ dẫn</translation>
    </message>
</context>
<context>
    <name>offstage::ui::Personas</name>
    <message>
        <source>Concise</source>
        <translation>Ngắn gọn</translation>
    </message>
    <message>
        <source>Answer in as few words as the question allows.</source>
        <translation>Hãy trả lời bằng ít từ nhất mà câu hỏi cho phép.</translation>
    </message>
    <message>
        <source>Teacher</source>
        <translation>Giáo viên</translation>
    </message>
    <message>
        <source>Explain step by step, with one example for each step, and end with a question that checks what was understood.</source>
        <translation>Hãy giải thích từng bước, mỗi bước kèm một ví dụ, và kết thúc bằng một câu hỏi để kiểm tra xem người đọc đã hiểu gì.</translation>
    </message>
    <message>
        <source>Programmer</source>
        <translation>Lập trình viên</translation>
    </message>
    <message>
        <source>Answer with code first, and then only what the code does not say. Name what could go wrong.</source>
        <translation>Hãy đưa mã trước, sau đó chỉ nói những gì mã chưa nói lên. Nêu rõ những chỗ có thể sai.</translation>
    </message>
    <message>
        <source>%1 is not a file of personas that Offstage wrote.</source>
        <translation>%1 không phải là tệp vai do Offstage ghi.</translation>
    </message>
    <message>
        <source>%1 was written by a newer Offstage and cannot be read by this one.</source>
        <translation>%1 do bản Offstage mới hơn ghi và bản này không đọc được.</translation>
    </message>
    <message>
        <source>%1 holds no personas.</source>
        <translation>%1 không chứa vai nào.</translation>
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
        <translation>Không lưu được hình vào %1: %2.</translation>
    </message>
    <message>
        <source>Pictures of plots</source>
        <translation>Hình của các biểu đồ</translation>
    </message>
    <message>
        <source>Plots to save</source>
        <translation>Các biểu đồ cần lưu</translation>
    </message>
    <message>
        <source>Save in a folder…</source>
        <translation>Lưu vào một thư mục…</translation>
    </message>
    <message>
        <source>No plot has anything to show yet: open a model and ask it something.</source>
        <translation>Chưa biểu đồ nào có gì để hiển thị: hãy mở một mô hình và hỏi nó điều gì đó.</translation>
    </message>
    <message>
        <source>Each plot is saved as PNG with its title, model, hardware and plan. Conversations and prompts are in none of them.</source>
        <translation>Mỗi biểu đồ được lưu thành PNG kèm tiêu đề, mô hình, phần cứng và phương án. Không hình nào chứa cuộc trò chuyện hay lời nhắc.</translation>
    </message>
    <message>
        <source>Folder for the pictures</source>
        <translation>Thư mục cho các hình</translation>
    </message>
    <message numerus="yes">
        <source>%n picture(s) saved in %1.</source>
        <translation>
            <numerusform>Đã lưu %n hình trong %1.</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>offstage::ui::PlotWidget</name>
    <message>
        <source>Picture copied</source>
        <translation>Đã sao chép hình</translation>
    </message>
    <message>
        <source>Numbers copied</source>
        <translation>Đã sao chép số liệu</translation>
    </message>
    <message>
        <source>%1 could not be written: %2</source>
        <translation>Không ghi được %1: %2</translation>
    </message>
    <message>
        <source>Saved</source>
        <translation>Đã lưu</translation>
    </message>
    <message>
        <source>plot</source>
        <translation>biểu đồ</translation>
    </message>
    <message>
        <source>Save picture</source>
        <translation>Lưu hình</translation>
    </message>
    <message>
        <source>Save numbers</source>
        <translation>Lưu số liệu</translation>
    </message>
    <message>
        <source>PNG picture (*.png)</source>
        <translation>Hình PNG (*.png)</translation>
    </message>
    <message>
        <source>Comma-separated values (*.csv)</source>
        <translation>Giá trị phân tách bằng dấu phẩy (*.csv)</translation>
    </message>
    <message>
        <source>&amp;Save picture…</source>
        <translation>&amp;Lưu hình…</translation>
    </message>
    <message>
        <source>Show &amp;all	Home</source>
        <translation>Hiện &amp;tất cả	Home</translation>
    </message>
    <message>
        <source>Copy pi&amp;cture	Ctrl+C</source>
        <translation>Chép ả&amp;nh	Ctrl+C</translation>
    </message>
    <message>
        <source>Copy &amp;numbers (CSV)	Ctrl+Alt+C</source>
        <translation>Chép số (CS&amp;V)	Ctrl+Alt+C</translation>
    </message>
    <message>
        <source>Sa&amp;ve numbers (CSV)…</source>
        <translation>Lư&amp;u số (CSV)…</translation>
    </message>
</context>
<context>
    <name>offstage::ui::PresetBar</name>
    <message>
        <source>Name of the preset</source>
        <translation>Tên mẫu</translation>
    </message>
    <message>
        <source>Save, rename or delete a preset</source>
        <translation>Lưu, đổi tên hoặc xóa một mẫu</translation>
    </message>
    <message>
        <source>&amp;Save as preset…</source>
        <translation>&amp;Lưu thành mẫu…</translation>
    </message>
    <message>
        <source>&amp;Rename…</source>
        <translation>Đổi &amp;tên…</translation>
    </message>
    <message>
        <source>&amp;Delete</source>
        <translation>&amp;Xóa</translation>
    </message>
</context>
<context>
    <name>offstage::ui::ProblemCard</name>
    <message>
        <source>Open another model…</source>
        <translation>Mở mô hình khác…</translation>
    </message>
    <message>
        <source>Back to the previous model</source>
        <translation>Quay lại mô hình trước</translation>
    </message>
    <message>
        <source>Open the demo model</source>
        <translation>Mở mô hình minh họa</translation>
    </message>
    <message>
        <source>Edit the prompt</source>
        <translation>Sửa lời nhắc</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>Thử lại</translation>
    </message>
    <message>
        <source>Details of the problem</source>
        <translation>Chi tiết của sự cố</translation>
    </message>
    <message>
        <source>Details</source>
        <translation>Chi tiết</translation>
    </message>
    <message>
        <source>Show the details of the problem</source>
        <translation>Hiện chi tiết của sự cố</translation>
    </message>
    <message>
        <source>See what would fit…</source>
        <translation>Xem cấu hình nào vừa…</translation>
    </message>
    <message>
        <source>Use the larger context</source>
        <translation>Dùng ngữ cảnh lớn hơn</translation>
    </message>
    <message>
        <source>Go on without the oldest turns</source>
        <translation>Tiếp tục không có các lượt cũ nhất</translation>
    </message>
    <message>
        <source>Summarise the oldest turns and go on</source>
        <translation>Tóm tắt các lượt cũ nhất rồi tiếp tục</translation>
    </message>
    <message>
        <source>Close this notice</source>
        <translation>Đóng thông báo này</translation>
    </message>
    <message>
        <source>Choose a chat template…</source>
        <translation>Chọn mẫu trò chuyện…</translation>
    </message>
    <message>
        <source>Ask in a new conversation</source>
        <translation>Hỏi trong cuộc trò chuyện mới</translation>
    </message>
</context>
<context>
    <name>offstage::ui::ProfileEditor</name>
    <message>
        <source>Hardware profile</source>
        <translation>Hồ sơ phần cứng</translation>
    </message>
    <message>
        <source>%1, changed</source>
        <translation>%1, đã sửa</translation>
    </message>
    <message>
        <source>Name of the profile</source>
        <translation>Tên hồ sơ</translation>
    </message>
    <message>
        <source>Memory</source>
        <translation>Bộ nhớ</translation>
    </message>
    <message>
        <source>Of the GPU in all</source>
        <translation>Tổng bộ nhớ của GPU</translation>
    </message>
    <message>
        <source>Reserved</source>
        <translation>Dành riêng</translation>
    </message>
    <message>
        <source>Of the memory, what driver and display take</source>
        <translation>Phần bộ nhớ mà trình điều khiển và màn hình chiếm</translation>
    </message>
    <message>
        <source> GB/s</source>
        <translation> GB/s</translation>
    </message>
    <message>
        <source>Memory bandwidth</source>
        <translation>Băng thông bộ nhớ</translation>
    </message>
    <message>
        <source>As the datasheet has it</source>
        <translation>Như trong bảng thông số</translation>
    </message>
    <message>
        <source> TFLOP/s</source>
        <translation> TFLOP/s</translation>
    </message>
    <message>
        <source>Arithmetic</source>
        <translation>Năng lực tính</translation>
    </message>
    <message>
        <source>16-bit matrix products, dense, as the datasheet has it</source>
        <translation>Nhân ma trận 16 bit, dày đặc, như trong bảng thông số</translation>
    </message>
    <message>
        <source>Bus bandwidth</source>
        <translation>Băng thông bus</translation>
    </message>
    <message>
        <source>One direction</source>
        <translation>Một chiều</translation>
    </message>
    <message>
        <source> µs</source>
        <translation> µs</translation>
    </message>
    <message>
        <source>Launch</source>
        <translation>Khởi chạy</translation>
    </message>
    <message>
        <source>Per operation of the GPU</source>
        <translation>Cho mỗi phép toán của GPU</translation>
    </message>
    <message>
        <source>Synchronisation</source>
        <translation>Đồng bộ</translation>
    </message>
    <message>
        <source>Each time host and GPU wait for each other</source>
        <translation>Mỗi lần CPU và GPU chờ nhau</translation>
    </message>
    <message>
        <source>What is wrong with the profile</source>
        <translation>Hồ sơ sai ở đâu</translation>
    </message>
    <message>
        <source>&amp;Name</source>
        <translation>&amp;Tên</translation>
    </message>
    <message>
        <source>&amp;Memory</source>
        <translation>&amp;Bộ nhớ</translation>
    </message>
    <message>
        <source>&amp;Reserved</source>
        <translation>&amp;Dành riêng</translation>
    </message>
    <message>
        <source>Memory &amp;bandwidth</source>
        <translation>Băng thông bộ &amp;nhớ</translation>
    </message>
    <message>
        <source>&amp;Arithmetic</source>
        <translation>Năng &amp;lực tính</translation>
    </message>
    <message>
        <source>B&amp;us</source>
        <translation>Băng thông b&amp;us</translation>
    </message>
    <message>
        <source>&amp;Launch</source>
        <translation>&amp;Khởi chạy</translation>
    </message>
    <message>
        <source>M&amp;eeting</source>
        <translation>Đồn&amp;g bộ</translation>
    </message>
    <message>
        <source>The profile could not be saved as %1: %2.</source>
        <translation>Không lưu được hồ sơ vào %1: %2.</translation>
    </message>
</context>
<context>
    <name>offstage::ui::PromptEdit</name>
    <message>
        <source>Write a message</source>
        <translation>Viết tin nhắn</translation>
    </message>
    <message>
        <source>Message</source>
        <translation>Tin nhắn</translation>
    </message>
    <message>
        <source>Enter sends, Shift and Enter begins a new line</source>
        <translation>Enter để gửi, Shift và Enter để xuống dòng</translation>
    </message>
</context>
<context>
    <name>offstage::ui::QualityEdit</name>
    <message>
        <source>Quality of the experts</source>
        <translation>Chất lượng của chuyên gia</translation>
    </message>
    <message>
        <source>Experts in fewer bits are smaller and faster, and say less exactly what the model was trained to say. Nothing of this changes unless you choose it</source>
        <translation>Chuyên gia ít bit hơn thì nhỏ và nhanh hơn, nhưng nói kém chính xác hơn so với những gì mô hình đã học. Điều này chỉ thay đổi khi bạn chọn</translation>
    </message>
    <message>
        <source>Mean bits, at least</source>
        <translation>Số bit trung bình, tối thiểu</translation>
    </message>
    <message>
        <source>Predicted loss, at most</source>
        <translation>Tổn thất dự đoán, tối đa</translation>
    </message>
    <message>
        <source>No plan goes below this</source>
        <translation>Không phương án nào xuống dưới mức này</translation>
    </message>
    <message>
        <source>Mean bits per expert weight, at least</source>
        <translation>Số bit trung bình cho mỗi trọng số của chuyên gia, tối thiểu</translation>
    </message>
    <message>
        <source> bits</source>
        <translation> bit</translation>
    </message>
    <message>
        <source>Predicted loss in percent, at most</source>
        <translation>Tổn thất dự đoán tính bằng phần trăm, tối đa</translation>
    </message>
    <message>
        <source> %</source>
        <translation> %</translation>
    </message>
    <message>
        <source>Format of the KV cache</source>
        <translation>Định dạng của KV cache</translation>
    </message>
    <message>
        <source>What keys and values of the conversation are kept in. 8 bits take half of the room of 16 and change answers a little; 32 bits are exact</source>
        <translation>Định dạng lưu khóa và giá trị của cuộc trò chuyện. 8 bit chiếm nửa chỗ so với 16 bit và làm câu trả lời thay đổi một chút; 32 bit là chính xác</translation>
    </message>
    <message>
        <source>16 bits</source>
        <translation>16 bit</translation>
    </message>
    <message>
        <source>8 bits</source>
        <translation>8 bit</translation>
    </message>
    <message>
        <source>32 bits, exact</source>
        <translation>32 bit, chính xác</translation>
    </message>
    <message>
        <source>No format of ours has fewer bits than this file&apos;s</source>
        <translation>Không định dạng nào của chúng tôi có ít bit hơn tệp này</translation>
    </message>
    <message>
        <source>Measured loss, at most</source>
        <translation>Tổn thất đo được, tối đa</translation>
    </message>
    <message>
        <source>Measured loss in nats per token, at most</source>
        <translation>Tổn thất đo được tính bằng nat mỗi token, tối đa</translation>
    </message>
    <message>
        <source> nats</source>
        <translation> nat</translation>
    </message>
    <message>
        <source>Original</source>
        <translation>Nguyên bản</translation>
    </message>
    <message>
        <source>Original: %1</source>
        <translation>Nguyên bản: %1</translation>
    </message>
    <message>
        <source>One floor for bits and neurons, in nats per token: the planner chooses formats and which neurons are skipped, whichever is forecast to be fastest. Only what was measured of the model is chosen, each measured alone: their sum is an estimate</source>
        <translation>Một giới hạn chung cho số bit và nơ-ron, tính bằng nat mỗi token: bộ lập kế hoạch chọn định dạng và nơ-ron bị bỏ qua sao cho nhanh nhất theo dự báo. Chỉ chọn những gì đã đo ở mô hình, mỗi thứ đo riêng: tổng là ước lượng</translation>
    </message>
    <message>
        <source>All experts in this format</source>
        <translation>Mọi chuyên gia ở định dạng này</translation>
    </message>
</context>
<context>
    <name>offstage::ui::QuietDocument</name>
    <message>
        <source> – picture not loaded]</source>
        <translation> – không tải hình]</translation>
    </message>
</context>
<context>
    <name>offstage::ui::SamplingPanel</name>
    <message>
        <source>0 · always the most probable</source>
        <translation>0 · luôn chọn từ có xác suất cao nhất</translation>
    </message>
    <message>
        <source>off</source>
        <translation>tắt</translation>
    </message>
    <message>
        <source>all tokens</source>
        <translation>mọi token</translation>
    </message>
    <message>
        <source>no limit</source>
        <translation>không giới hạn</translation>
    </message>
    <message>
        <source>a new one for each answer</source>
        <translation>mỗi câu trả lời một seed mới</translation>
    </message>
    <message>
        <source>Own settings</source>
        <translation>Thiết lập riêng</translation>
    </message>
    <message>
        <source>Preset</source>
        <translation>Mẫu</translation>
    </message>
    <message>
        <source>A good set of values to begin with</source>
        <translation>Một bộ giá trị tốt để bắt đầu</translation>
    </message>
    <message>
        <source>Temperature</source>
        <translation>Nhiệt độ</translation>
    </message>
    <message>
        <source>How adventurous: 0 always takes the most probable word, 1 takes words as often as the model believes in them</source>
        <translation>Mức độ phiêu lưu: 0 luôn chọn từ có xác suất cao nhất, 1 chọn từ đúng theo mức mô hình tin vào chúng</translation>
    </message>
    <message>
        <source>Top-k</source>
        <translation>Top-k</translation>
    </message>
    <message>
        <source>Only this many of the most probable words are considered</source>
        <translation>Chỉ xét chừng này từ có xác suất cao nhất</translation>
    </message>
    <message>
        <source>Top-p</source>
        <translation>Top-p</translation>
    </message>
    <message>
        <source>Only the most probable words that together have this probability are considered; 1 considers all</source>
        <translation>Chỉ xét các từ có xác suất cao nhất mà cộng lại đạt xác suất này; 1 là xét tất cả</translation>
    </message>
    <message>
        <source>Min-p</source>
        <translation>Min-p</translation>
    </message>
    <message>
        <source>Words less probable than this share of the most probable word are left out</source>
        <translation>Bỏ qua các từ có xác suất thấp hơn tỷ lệ này so với từ có xác suất cao nhất</translation>
    </message>
    <message>
        <source>Repetition penalty</source>
        <translation>Phạt lặp</translation>
    </message>
    <message>
        <source>Makes words that were just used less probable; 1 does nothing, much more than 1.2 hurts the language</source>
        <translation>Làm giảm xác suất của những từ vừa dùng; 1 là không tác động, cao hơn 1,2 nhiều sẽ làm hỏng câu văn</translation>
    </message>
    <message>
        <source>Penalty looks back</source>
        <translation>Phạt nhìn lại</translation>
    </message>
    <message>
        <source>How many of the latest tokens count as just used; 0: all of the conversation</source>
        <translation>Bao nhiêu token gần nhất được coi là vừa dùng; 0: mọi token của cuộc trò chuyện</translation>
    </message>
    <message>
        <source>Seed</source>
        <translation>Seed</translation>
    </message>
    <message>
        <source>The same seed, prompt and settings give the same answer; empty or 0: a new seed each time</source>
        <translation>Cùng seed, lời nhắc và thiết lập cho cùng một câu trả lời; để trống hoặc 0: mỗi lần một seed mới</translation>
    </message>
    <message>
        <source>Longest answer</source>
        <translation>Trả lời dài nhất</translation>
    </message>
    <message>
        <source>An answer ends after this many tokens</source>
        <translation>Câu trả lời kết thúc sau chừng này token</translation>
    </message>
    <message>
        <source>Reset to Balanced</source>
        <translation>Đặt lại về “Cân bằng”</translation>
    </message>
    <message>
        <source>Your own mixture</source>
        <translation>Cách pha trộn của riêng bạn</translation>
    </message>
    <message>
        <source>1 · no beam search</source>
        <translation>1 · không tìm kiếm chùm</translation>
    </message>
    <message>
        <source>What every answer of this conversation should heed</source>
        <translation>Điều mà mọi câu trả lời trong cuộc trò chuyện này cần tuân theo</translation>
    </message>
    <message>
        <source>System prompt</source>
        <translation>Lời nhắc hệ thống</translation>
    </message>
    <message>
        <source>Beam width</source>
        <translation>Độ rộng chùm</translation>
    </message>
    <message>
        <source>How many answers are followed side by side; the most probable one is shown, at once and without chance. Costs time and memory in proportion</source>
        <translation>Bao nhiêu câu trả lời được theo song song; câu có xác suất cao nhất được hiện trọn một lần, không có yếu tố ngẫu nhiên. Tốn thời gian và bộ nhớ theo tỷ lệ tương ứng</translation>
    </message>
    <message>
        <source>A preset of yours</source>
        <translation>Một mẫu của bạn</translation>
    </message>
    <message>
        <source>%L1, as the model advises</source>
        <translation>%L1, theo khuyến nghị của mô hình</translation>
    </message>
    <message>
        <source>What this model&apos;s publisher advises</source>
        <translation>Theo khuyến nghị của bên phát hành mô hình này</translation>
    </message>
    <message>
        <source>Thinking</source>
        <translation>Suy nghĩ</translation>
    </message>
    <message>
        <source>How much this model thinks before it answers; more takes longer. From the next answer on</source>
        <translation>Mô hình này suy nghĩ bao nhiêu trước khi trả lời; nhiều hơn thì lâu hơn. Từ câu trả lời sau</translation>
    </message>
    <message>
        <source>Instructions (system prompt)</source>
        <translation>Chỉ dẫn (lời nhắc hệ thống)</translation>
    </message>
</context>
<context>
    <name>offstage::ui::ServerIndicator</name>
    <message>
        <source>Local server</source>
        <translation>Máy chủ cục bộ</translation>
    </message>
    <message>
        <source>Stop the answer to another program</source>
        <translation>Dừng câu trả lời cho chương trình khác</translation>
    </message>
    <message>
        <source>Stop the answer that another program is getting</source>
        <translation>Dừng câu trả lời mà chương trình khác đang nhận</translation>
    </message>
    <message>
        <source>Local server: not on</source>
        <translation>Máy chủ cục bộ: chưa bật</translation>
    </message>
    <message>
        <source>Local server: %1</source>
        <translation>Máy chủ cục bộ: %1</translation>
    </message>
    <message>
        <source>%1
Click to open the local server&apos;s settings.</source>
        <translation>%1
Nhấp để mở cài đặt của máy chủ cục bộ.</translation>
    </message>
</context>
<context>
    <name>offstage::ui::SettingsDialog</name>
    <message>
        <source>Settings</source>
        <translation>Cài đặt</translation>
    </message>
    <message>
        <source>Subjects</source>
        <translation>Chủ đề</translation>
    </message>
    <message>
        <source>Appearance</source>
        <translation>Hiển thị</translation>
    </message>
    <message>
        <source>Keys</source>
        <translation>Phím</translation>
    </message>
    <message>
        <source>Local server</source>
        <translation>Máy chủ cục bộ</translation>
    </message>
    <message>
        <source>Storage</source>
        <translation>Lưu trữ</translation>
    </message>
    <message>
        <source>Memory</source>
        <translation>Bộ nhớ</translation>
    </message>
    <message>
        <source>Conversations</source>
        <translation>Cuộc trò chuyện</translation>
    </message>
</context>
<context>
    <name>offstage::ui::SettingsWatch</name>
    <message>
        <source>The settings cannot be saved as %1: what is changed now is lost at the end.</source>
        <translation>Không lưu được cài đặt vào %1: những gì thay đổi bây giờ sẽ mất khi đóng chương trình.</translation>
    </message>
</context>
<context>
    <name>offstage::ui::SetupBar</name>
    <message>
        <source>What this conversation was answered with</source>
        <translation>Cuộc trò chuyện này được trả lời bằng gì</translation>
    </message>
    <message>
        <source>Open it</source>
        <translation>Mở</translation>
    </message>
    <message>
        <source>Open this model with these budgets; the conversation stays</source>
        <translation>Mở mô hình này với các ngân sách này; cuộc trò chuyện được giữ</translation>
    </message>
    <message>
        <source>Go on with the model that is open</source>
        <translation>Tiếp tục với mô hình đang mở</translation>
    </message>
    <message>
        <source>It is no longer at %1: answers will come from the model that is open.</source>
        <translation>Nó không còn ở %1: câu trả lời sẽ đến từ mô hình đang mở.</translation>
    </message>
    <message>
        <source>The persona “%1” goes with %2.</source>
        <comment>model</comment>
        <translation>Vai “%1” đi cùng %2.</translation>
    </message>
    <message>
        <source>This conversation used %1 on %2.</source>
        <comment>model, device</comment>
        <translation>Cuộc trò chuyện này đã dùng %1 trên %2.</translation>
    </message>
    <message>
        <source>This conversation used %1 on %2, with %3.</source>
        <comment>model, device, budgets</comment>
        <translation>Cuộc trò chuyện này đã dùng %1 trên %2, với %3.</translation>
    </message>
</context>
<context>
    <name>offstage::ui::SizeSpinBox</name>
    <message>
        <source>%1 is too much here: the most is %2.</source>
        <translation>%1 là quá nhiều ở đây: tối đa là %2.</translation>
    </message>
    <message>
        <source>%1 is too little here: the least is %2.</source>
        <translation>%1 là quá ít ở đây: tối thiểu là %2.</translation>
    </message>
    <message>
        <source>“%1” is not a size. Write it as 600 MiB or %2 GiB.</source>
        <translation>“%1” không phải là kích thước. Hãy viết 600 MiB hoặc %2 GiB.</translation>
    </message>
    <message>
        <source>“%1” is not a number.</source>
        <translation>“%1” không phải là số.</translation>
    </message>
    <message>
        <source>not a size</source>
        <translation>không phải kích thước</translation>
    </message>
    <message>
        <source>not a number</source>
        <translation>không phải số</translation>
    </message>
    <message>
        <source>at most %1</source>
        <translation>nhiều nhất %1</translation>
    </message>
    <message>
        <source>at least %1</source>
        <translation>ít nhất %1</translation>
    </message>
</context>
<context>
    <name>offstage::ui::SpeedMeter</name>
    <message>
        <source>here %1</source>
        <translation>ở đây %1</translation>
    </message>
</context>
<context>
    <name>offstage::ui::StackedBar</name>
    <message>
        <source>free</source>
        <translation>trống</translation>
    </message>
    <message>
        <source>%1 of %2</source>
        <translation>%1 / %2</translation>
    </message>
    <message>
        <source> · budget %1</source>
        <translation> · hạn mức %1</translation>
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
        <translation>, trên %1 %2</translation>
    </message>
</context>
<context>
    <name>offstage::ui::StatusLine</name>
    <message>
        <source>What the engine does</source>
        <translation>Bộ máy đang làm gì</translation>
    </message>
    <message>
        <source>Speed</source>
        <translation>Tốc độ</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>Mô hình</translation>
    </message>
    <message>
        <source>No model</source>
        <translation>Chưa có mô hình</translation>
    </message>
    <message>
        <source>Loading the model…</source>
        <translation>Đang nạp mô hình…</translation>
    </message>
    <message>
        <source>Ready</source>
        <translation>Sẵn sàng</translation>
    </message>
    <message>
        <source>Reading the prompt…</source>
        <translation>Đang đọc lời nhắc…</translation>
    </message>
    <message>
        <source>Stopping…</source>
        <translation>Đang dừng…</translation>
    </message>
    <message>
        <source>Writing</source>
        <translation>Đang viết</translation>
    </message>
    <message>
        <source>Tokens written per second, after the first token, as measured.</source>
        <translation>Số token viết mỗi giây, sau token đầu, theo đo đạc.</translation>
    </message>
    <message>
        <source>Answering another program</source>
        <translation>Đang trả lời chương trình khác</translation>
    </message>
    <message>
        <source>Waiting for the end of another program&apos;s answer…</source>
        <translation>Đang chờ câu trả lời cho chương trình khác kết thúc…</translation>
    </message>
    <message>
        <source>Neurons that are skipped</source>
        <translation>Phần của mô hình bị bỏ qua</translation>
    </message>
    <message>
        <source>Neurons of the experts whose activation is at most this, or at most their expert&apos;s own threshold, are skipped: the answers are not the model&apos;s own. The Budget panel changes it.</source>
        <translation>Bỏ các nơ-ron của chuyên gia có mức kích hoạt không quá mức này, hoặc không quá ngưỡng riêng của chuyên gia: câu trả lời không phải của chính mô hình. Bảng Ngân sách thay đổi điều này.</translation>
    </message>
    <message>
        <source>Tokens written per second, after the first token.
Simulated: what the emulated device would reach, worked out from its datasheet.
Here: how fast the text really came on this computer, which does that device&apos;s work.</source>
        <translation>Số token viết mỗi giây, sau token đầu tiên.
Mô phỏng: tốc độ mà thiết bị giả lập sẽ đạt, tính theo thông số kỹ thuật.
Ở đây: văn bản thực sự đến nhanh thế nào trên máy tính này, máy làm thay công việc của thiết bị đó.</translation>
    </message>
</context>
<context>
    <name>offstage::ui::StepsOwner</name>
    <message>
        <source>Experts, Cache and Dispatch show what the engine did last, from the beginning of the conversation, benchmark or request of another program on.</source>
        <translation>Chuyên gia, Bộ nhớ đệm và Phân công cho thấy việc mà bộ máy làm gần nhất, kể từ đầu cuộc trò chuyện, phép đo hoặc yêu cầu của chương trình khác.</translation>
    </message>
    <message>
        <source>A benchmark</source>
        <translation>Phép đo hiệu năng</translation>
    </message>
    <message>
        <source>Another program</source>
        <translation>Chương trình khác</translation>
    </message>
    <message>
        <source>This conversation</source>
        <translation>Cuộc trò chuyện này</translation>
    </message>
    <message>
        <source>“%1”</source>
        <translation>“%1”</translation>
    </message>
    <message>
        <source>A new conversation</source>
        <translation>Cuộc trò chuyện mới</translation>
    </message>
</context>
<context>
    <name>offstage::ui::StoragePage</name>
    <message>
        <source>Quantized copies</source>
        <translation>Bản lượng tử hóa</translation>
    </message>
    <message>
        <source>Experts in fewer bits. Without them a model that needs them loads slower once.</source>
        <translation>Chuyên gia với ít bit hơn. Không có chúng, mô hình cần đến sẽ nạp chậm hơn một lần.</translation>
    </message>
    <message>
        <source>Measured costs</source>
        <translation>Chi phí đã đo</translation>
    </message>
    <message>
        <source>How fast this computer copies and computes. Measured again at the next load.</source>
        <translation>Máy này sao chép và tính nhanh đến đâu. Được đo lại ở lần nạp tới.</translation>
    </message>
    <message>
        <source>Measured sensitivity</source>
        <translation>Độ nhạy đã đo</translation>
    </message>
    <message>
        <source>What fewer bits lose in each expert. Measured again where a plan needs it.</source>
        <translation>Ít bit hơn làm mỗi chuyên gia mất gì. Được đo lại khi phương án cần.</translation>
    </message>
    <message>
        <source>About what is stored</source>
        <translation>Về những gì được lưu</translation>
    </message>
    <message>
        <source>&amp;Delete</source>
        <translation>&amp;Xóa</translation>
    </message>
    <message>
        <source>&amp;Keep</source>
        <translation>&amp;Giữ lại</translation>
    </message>
    <message>
        <source>Yours</source>
        <translation>Của bạn</translation>
    </message>
    <message>
        <source>Conversations</source>
        <translation>Cuộc trò chuyện</translation>
    </message>
    <message>
        <source>Settings</source>
        <translation>Cài đặt</translation>
    </message>
    <message>
        <source>Made again where it is missing</source>
        <translation>Được tạo lại khi thiếu</translation>
    </message>
    <message>
        <source>Where models are looked for</source>
        <translation>Nơi tìm mô hình</translation>
    </message>
    <message>
        <source>Place of %1</source>
        <translation>Nơi lưu %1</translation>
    </message>
    <message>
        <source>models</source>
        <translation>mô hình</translation>
    </message>
    <message>
        <source>Size of %1</source>
        <translation>Kích thước của %1</translation>
    </message>
    <message>
        <source>Open folder</source>
        <translation>Mở thư mục</translation>
    </message>
    <message>
        <source>Open the folder of %1</source>
        <translation>Mở thư mục của %1</translation>
    </message>
    <message>
        <source>%1 is not there yet.</source>
        <translation>%1 chưa có.</translation>
    </message>
    <message>
        <source>Delete…</source>
        <translation>Xóa…</translation>
    </message>
    <message>
        <source>Delete %1</source>
        <translation>Xóa %1</translation>
    </message>
    <message>
        <source>Delete %1 of “%2”?</source>
        <translation>Xóa %1 của “%2”?</translation>
    </message>
    <message>
        <source>Deleting “%1”…</source>
        <translation>Đang xóa “%1”…</translation>
    </message>
    <message>
        <source>“%1” are deleted.</source>
        <translation>Đã xóa “%1”.</translation>
    </message>
    <message>
        <source>Not all of “%1” could be deleted: %2.</source>
        <translation>Không xóa được hết “%1”: %2.</translation>
    </message>
    <message>
        <source>Where caches are kept</source>
        <translation>Nơi giữ bộ đệm</translation>
    </message>
    <message>
        <source>Change…</source>
        <translation>Đổi…</translation>
    </message>
    <message>
        <source>The usual place</source>
        <translation>Nơi mặc định</translation>
    </message>
    <message>
        <source>&amp;Add a folder…</source>
        <translation>&amp;Thêm thư mục…</translation>
    </message>
    <message>
        <source>Choose where caches are kept</source>
        <translation>Chọn nơi giữ bộ đệm</translation>
    </message>
    <message>
        <source>Keep caches in the usual place</source>
        <translation>Giữ bộ đệm ở nơi mặc định</translation>
    </message>
    <message>
        <source>Keep caches in a folder</source>
        <translation>Giữ bộ đệm trong một thư mục</translation>
    </message>
    <message>
        <source>What was kept so far is not moved: it is made anew in the new folder, and stays where it is until you delete it.</source>
        <translation>Những gì đã có không được chuyển đi: chúng được tạo lại trong thư mục mới, và ở yên chỗ cũ cho đến khi bạn xóa.</translation>
    </message>
    <message>
        <source>Caches are kept in the folder %1.</source>
        <translation>Bộ đệm được giữ trong thư mục %1.</translation>
    </message>
    <message>
        <source>From the next start on caches are kept in the folder %1.</source>
        <translation>Từ lần khởi động sau, bộ đệm được giữ trong thư mục %1.</translation>
    </message>
    <message>
        <source>Remove</source>
        <translation>Bỏ</translation>
    </message>
    <message>
        <source>Look no longer for models in %1</source>
        <translation>Không tìm mô hình trong %1 nữa</translation>
    </message>
    <message>
        <source>Models are no longer looked for there; its files stay.</source>
        <translation>Không tìm mô hình ở đó nữa; các tệp vẫn còn.</translation>
    </message>
    <message>
        <source>Conversations as read</source>
        <translation>Hội thoại đã đọc</translation>
    </message>
    <message>
        <source>A long conversation that is opened again, also after a new start, goes on without being read whole. The files contain the conversation&apos;s tokens, and are deleted with it.</source>
        <translation>Một cuộc trò chuyện dài được mở lại, kể cả sau khi khởi động lại, sẽ tiếp tục mà không phải đọc lại từ đầu. Các tệp chứa token của cuộc trò chuyện và bị xóa cùng với nó.</translation>
    </message>
    <message>
        <source>Off</source>
        <translation>Tắt</translation>
    </message>
    <message>
        <source>Up to %1</source>
        <translation>Tối đa %1</translation>
    </message>
    <message>
        <source>Keep &amp;it on disk</source>
        <translation>Giữ trên &amp;đĩa</translation>
    </message>
    <message>
        <source>Keep what was read of conversations on disk</source>
        <translation>Giữ phần đã đọc của các cuộc trò chuyện trên đĩa</translation>
    </message>
    <message>
        <source>What is kept so far stays until you delete it.</source>
        <translation>Những gì đã giữ sẽ còn đó cho đến khi bạn xóa.</translation>
    </message>
</context>
<context>
    <name>offstage::ui::SuggestedModels</name>
    <message>
        <source>code</source>
        <translation>mã</translation>
    </message>
    <message>
        <source>reasoning</source>
        <translation>suy luận</translation>
    </message>
    <message>
        <source>chat</source>
        <translation>trò chuyện</translation>
    </message>
    <message>
        <source>GPU</source>
        <translation>GPU</translation>
    </message>
    <message>
        <source>GPU and RAM</source>
        <translation>GPU và RAM</translation>
    </message>
    <message>
        <source>RAM</source>
        <translation>RAM</translation>
    </message>
    <message>
        <source>%1 are missing</source>
        <translation>còn thiếu %1</translation>
    </message>
    <message>
        <source>no room</source>
        <translation>không đủ chỗ</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>Mô hình</translation>
    </message>
    <message>
        <source>For</source>
        <translation>Dùng cho</translation>
    </message>
    <message>
        <source>Weights</source>
        <translation>Trọng số</translation>
    </message>
    <message>
        <source>File</source>
        <translation>Tệp</translation>
    </message>
    <message>
        <source>Room in</source>
        <translation>Đủ chỗ trong</translation>
    </message>
    <message>
        <source> (on this computer)</source>
        <translation> (trên máy này)</translation>
    </message>
    <message>
        <source>%1, %2 active</source>
        <translation>%1, %2 hoạt động</translation>
    </message>
    <message>
        <source>%1, %2</source>
        <translation>%1, %2</translation>
    </message>
    <message>
        <source>%1 at %2k</source>
        <comment>speed or time at a context of so many thousand tokens</comment>
        <translation>%1 ở %2k</translation>
    </message>
    <message>
        <source>Tokens/s
at 8k</source>
        <translation>Token/s
ở 8k</translation>
    </message>
    <message>
        <source>First token
at 8k</source>
        <translation>Token đầu tiên
ở 8k</translation>
    </message>
    <message>
        <source>Tokens/s
at 32k</source>
        <translation>Token/s
ở 32k</translation>
    </message>
    <message>
        <source>First token
at 32k</source>
        <translation>Token đầu tiên
ở 32k</translation>
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
        <translation>Cả những cái &amp;không đủ chỗ</translation>
    </message>
    <message>
        <source>The chosen model</source>
        <translation>Mô hình đã chọn</translation>
    </message>
    <message>
        <source>State</source>
        <translation>Trạng thái</translation>
    </message>
    <message>
        <source>&amp;Copy address</source>
        <translation>&amp;Chép địa chỉ</translation>
    </message>
    <message>
        <source>&amp;Open</source>
        <translation>&amp;Mở</translation>
    </message>
    <message>
        <source>What runs here</source>
        <translation>Cái gì chạy được ở đây</translation>
    </message>
    <message>
        <source>All models</source>
        <translation>Mọi mô hình</translation>
    </message>
    <message>
        <source>Chat</source>
        <translation>Trò chuyện</translation>
    </message>
    <message>
        <source>Code</source>
        <translation>Mã</translation>
    </message>
    <message>
        <source>Reasoning</source>
        <translation>Suy luận</translation>
    </message>
    <message>
        <source>Good for</source>
        <translation>Tốt cho</translation>
    </message>
    <message>
        <source>Models of today</source>
        <translation>Các mô hình hiện nay</translation>
    </message>
    <message>
        <source>The address at which the model is published; Offstage asks nothing of the network</source>
        <translation>Địa chỉ nơi mô hình được công bố; Offstage không hỏi gì trên mạng</translation>
    </message>
    <message>
        <source>Forecasts for this computer, for a prompt that fills a context of 8,192 or 32,768 tokens. They are the ones that a model has once it is here.</source>
        <translation>Dự báo cho máy này, với một lời nhắc lấp đầy ngữ cảnh 8.192 hoặc 32.768 token. Đó cũng là những con số mà mô hình có khi đã ở đây.</translation>
    </message>
    <message>
        <source>Measuring: %1</source>
        <translation>Đang đo: %1</translation>
    </message>
    <message>
        <source>Planning: %1</source>
        <translation>Đang lập kế hoạch: %1</translation>
    </message>
    <message>
        <source>Planning…</source>
        <translation>Đang lập kế hoạch…</translation>
    </message>
    <message>
        <source>Cancel &amp;measuring</source>
        <translation>&amp;Hủy đo</translation>
    </message>
    <message>
        <source>&amp;Measure speeds</source>
        <translation>Đ&amp;o tốc độ</translation>
    </message>
    <message>
        <source>Not while an answer is being written: it would disturb the times</source>
        <translation>Không phải khi đang viết câu trả lời: nó sẽ làm sai thời gian</translation>
    </message>
    <message>
        <source>Measures this computer with random weights of each shape, some seconds each, and keeps the times</source>
        <translation>Đo máy này với trọng số ngẫu nhiên của từng hình dạng, mỗi cái vài giây, và giữ lại thời gian</translation>
    </message>
    <message>
        <source>All speeds are known</source>
        <translation>Mọi tốc độ đã biết</translation>
    </message>
    <message numerus="yes">
        <source>%n model(s) have room whose speed was not measured yet</source>
        <translation>
            <numerusform>%n mô hình đủ chỗ mà tốc độ chưa được đo</numerusform>
        </translation>
    </message>
    <message>
        <source>Only a model that is on this computer can be opened</source>
        <translation>Chỉ mở được mô hình có trên máy này</translation>
    </message>
    <message>
        <source>%1: %2 weights, %3 of them read for each token; context of %4 tokens; licence %5.</source>
        <translation>%1: %2 trọng số, trong đó %3 được đọc cho mỗi token; ngữ cảnh %4 token; giấy phép %5.</translation>
    </message>
    <message>
        <source>Published at %1</source>
        <translation>Công bố tại %1</translation>
    </message>
    <message>
        <source>GGUF files at %1</source>
        <translation>Tệp GGUF tại %1</translation>
    </message>
    <message>
        <source>Progress</source>
        <translation>Tiến độ</translation>
    </message>
    <message>
        <source>Forecasts for this computer with the emulated GPU, for a prompt that fills a context of 8,192 or 32,768 tokens. They are the ones that a model has once it is here.</source>
        <translation>Dự báo cho máy này với GPU mô phỏng, với một lời nhắc lấp đầy ngữ cảnh 8.192 hoặc 32.768 token. Đó cũng là những con số mà mô hình có khi đã ở đây.</translation>
    </message>
    <message>
        <source>None of these models has room here. “Also those without room” says what is missing</source>
        <translation>Không mô hình nào trong số này có đủ chỗ ở đây. “Cả những cái không đủ chỗ” cho biết còn thiếu gì</translation>
    </message>
    <message>
        <source>&amp;Get…</source>
        <translation>&amp;Lấy về…</translation>
    </message>
    <message>
        <source>Reads this file&apos;s headers where it is published and shows what it would take here; nothing is downloaded before you say so</source>
        <translation>Đọc phần đầu của tệp này tại nơi công bố và cho biết nó cần gì ở đây; không tải gì trước khi bạn đồng ý</translation>
    </message>
    <message>
        <source>&amp;Downloads…</source>
        <translation>&amp;Tải về…</translation>
    </message>
    <message>
        <source>Cancelling…</source>
        <translation>Đang hủy…</translation>
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
        <translation>Đường dưới các từ ít khả năng: chấm %1, gạch %2, liền %3, đậm %4</translation>
    </message>
</context>
<context>
    <name>offstage::ui::ThoughtBlock</name>
    <message>
        <source>Thought before the answer</source>
        <translation>Suy nghĩ trước câu trả lời</translation>
    </message>
    <message>
        <source>Hide what the model thought</source>
        <translation>Ẩn suy nghĩ của mô hình</translation>
    </message>
    <message>
        <source>Show what the model thought</source>
        <translation>Hiện suy nghĩ của mô hình</translation>
    </message>
</context>
<context>
    <name>offstage::ui::TimelinePlot</name>
    <message>
        <source>predicted</source>
        <translation>dự đoán</translation>
    </message>
    <message>
        <source>%1, predicted</source>
        <comment>lane</comment>
        <translation>%1, dự đoán</translation>
    </message>
    <message>
        <source>%1 from %2</source>
        <comment>duration, begin</comment>
        <translation>%1 từ %2</translation>
    </message>
</context>
<context>
    <name>offstage::ui::TokenChoicesTip</name>
    <message>
        <source>Probabilities of this token</source>
        <translation>Xác suất của token này</translation>
    </message>
    <message>
        <source>A click on one goes on from it</source>
        <translation>Nhấp vào một mục để viết tiếp từ đó</translation>
    </message>
    <message>
        <source>A click keeps this open</source>
        <translation>Nhấp để giữ cửa sổ này mở</translation>
    </message>
    <message>
        <source>Drafted, and right: no step of its own</source>
        <translation>Được dự thảo và đúng: không cần bước riêng</translation>
    </message>
</context>
<context>
    <name>offstage::ui::TokenChoicesView</name>
    <message>
        <source>No probabilities are kept of this token</source>
        <translation>Không giữ xác suất nào của token này</translation>
    </message>
    <message>
        <source>&amp;Instead of “%1” go on with</source>
        <translation>&amp;Thay cho “%1”, tiếp tục với</translation>
    </message>
    <message>
        <source>“%1”, %2</source>
        <translation>“%1”, %2</translation>
    </message>
</context>
<context>
    <name>offstage::ui::UnsavedBar</name>
    <message>
        <source>Not everything is saved yet</source>
        <translation>Chưa lưu hết mọi thứ</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>Thử lại</translation>
    </message>
    <message>
        <source>Save as a file…</source>
        <translation>Lưu thành tệp…</translation>
    </message>
    <message>
        <source>Close without saving</source>
        <translation>Đóng mà không lưu</translation>
    </message>
    <message>
        <source>Saves what is not saved, and closes the window</source>
        <translation>Lưu những gì chưa lưu, rồi đóng cửa sổ</translation>
    </message>
    <message>
        <source>Puts the conversations that are not saved into a file, and closes the window</source>
        <translation>Ghi các cuộc trò chuyện chưa lưu vào một tệp, rồi đóng cửa sổ</translation>
    </message>
    <message>
        <source>Keep the window open</source>
        <translation>Giữ cửa sổ mở</translation>
    </message>
    <message>
        <source>Saves what is not saved</source>
        <translation>Lưu những gì chưa được lưu</translation>
    </message>
    <message>
        <source>Puts the conversations that are not saved into a file</source>
        <translation>Đưa các cuộc trò chuyện chưa lưu vào một tệp</translation>
    </message>
    <message>
        <source>Conversations are not saved</source>
        <translation>Cuộc trò chuyện không được lưu</translation>
    </message>
    <message>
        <source>What is not saved is lost if Offstage closes now.</source>
        <translation>Những gì chưa lưu sẽ mất nếu Offstage đóng bây giờ.</translation>
    </message>
</context>
<context>
    <name>offstage::ui::UnsavedGuard</name>
    <message>
        <source>What is written is kept in memory; saving is tried again every second.</source>
        <translation>Những gì được viết vẫn nằm trong bộ nhớ; cứ mỗi giây lại thử lưu một lần.</translation>
    </message>
    <message>
        <source>What is written is kept in memory until Offstage closes.</source>
        <translation>Những gì được viết chỉ nằm trong bộ nhớ cho đến khi Offstage đóng.</translation>
    </message>
    <message>
        <source>All conversations are saved.</source>
        <translation>Mọi cuộc trò chuyện đã được lưu.</translation>
    </message>
    <message>
        <source>Tried again at %1.</source>
        <translation>Đã thử lại lúc %1.</translation>
    </message>
    <message>
        <source>Save the conversations that are not saved</source>
        <translation>Lưu các cuộc trò chuyện chưa được lưu</translation>
    </message>
    <message>
        <source>Conversations (*.json)</source>
        <translation>Cuộc trò chuyện (*.json)</translation>
    </message>
    <message>
        <source>Saved as %1: what is written from now on is not in it.</source>
        <translation>Đã lưu thành %1: những gì viết từ giờ trở đi không có trong đó.</translation>
    </message>
</context>
<context>
    <name>offstage::ui::ValueSlider</name>
    <message>
        <source>%1, slider</source>
        <translation>%1, thanh trượt</translation>
    </message>
    <message>
        <source>%1, limit</source>
        <translation>%1, giới hạn</translation>
    </message>
</context>
<context>
    <name>offstage::ui::WhatIfPanel</name>
    <message>
        <source>Forecasts</source>
        <translation>Dự báo</translation>
    </message>
    <message>
        <source>Forecast</source>
        <translation>Dự báo</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Hủy</translation>
    </message>
    <message>
        <source>Edit a copy…</source>
        <translation>Sửa bản sao…</translation>
    </message>
    <message>
        <source>Open a model to see how fast it would be on other hardware.</source>
        <translation>Mở một mô hình để xem nó sẽ chạy nhanh đến đâu trên phần cứng khác.</translation>
    </message>
    <message>
        <source>Work it out. Measures this computer&apos;s CPU for up to three seconds first</source>
        <translation>Tính dự báo. Trước đó CPU của máy tính này được đo trong tối đa ba giây</translation>
    </message>
    <message>
        <source>Stop working it out</source>
        <translation>Dừng tính dự báo</translation>
    </message>
    <message>
        <source>Make a profile of your own from the chosen one</source>
        <translation>Tạo hồ sơ của riêng bạn từ hồ sơ đã chọn</translation>
    </message>
    <message>
        <source>Progress of the forecast</source>
        <translation>Tiến độ dự báo</translation>
    </message>
    <message>
        <source>What more VRAM would bring</source>
        <translation>Thêm VRAM sẽ mang lại gì</translation>
    </message>
    <message>
        <source>Forecasts by GPU</source>
        <translation>Dự báo theo GPU</translation>
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
        <translation>token/s</translation>
    </message>
    <message>
        <source>first token</source>
        <translation>token đầu tiên</translation>
    </message>
    <message>
        <source>hit rate</source>
        <translation>tỷ lệ trúng</translation>
    </message>
    <message>
        <source>Forecast tokens per second by GPU</source>
        <translation>Dự báo số token mỗi giây theo GPU</translation>
    </message>
    <message>
        <source>forecast</source>
        <translation>dự báo</translation>
    </message>
    <message>
        <source>Press Forecast to compare hardware.</source>
        <translation>Nhấn “Dự báo” để so sánh phần cứng.</translation>
    </message>
    <message>
        <source>Forecast tokens per second over VRAM</source>
        <translation>Dự báo số token mỗi giây theo VRAM</translation>
    </message>
    <message>
        <source>The speed over more and less VRAM.</source>
        <translation>Tốc độ khi có nhiều hoặc ít VRAM hơn.</translation>
    </message>
    <message>
        <source>Cancelled.</source>
        <translation>Đã hủy.</translation>
    </message>
    <message>
        <source>%1 of %2</source>
        <translation>%1/%2</translation>
    </message>
    <message>
        <source>does not fit</source>
        <translation>không vừa</translation>
    </message>
    <message>
        <source>forecast tokens/s</source>
        <translation>dự báo token/s</translation>
    </message>
    <message>
        <source>forecast, %1</source>
        <translation>dự báo, %1</translation>
    </message>
    <message>
        <source>budget</source>
        <translation>hạn mức</translation>
    </message>
    <message>
        <source>%1 with %2 of VRAM: 1 GiB more would change nothing (forecast).</source>
        <translation>%1 với %2 VRAM: thêm 1 GiB sẽ không thay đổi gì (dự báo).</translation>
    </message>
    <message>
        <source>%1 with %2 of VRAM: 1 GiB more would bring %3 tokens/s, from %4 to %5 (forecast).</source>
        <translation>%1 với %2 VRAM: thêm 1 GiB sẽ cho thêm %3 token/s, từ %4 lên %5 (dự báo).</translation>
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
        <translation>không thể</translation>
    </message>
    <message>
        <source>GPUs</source>
        <translation>GPU</translation>
    </message>
    <message>
        <source>Machines</source>
        <translation>Máy</translation>
    </message>
    <message>
        <source>GPU whose VRAM and machines are varied</source>
        <translation>GPU được thay đổi VRAM và số máy</translation>
    </message>
    <message>
        <source>The forecasts over VRAM and over machines are of this GPU</source>
        <translation>Các dự báo theo VRAM và theo số máy là của GPU này</translation>
    </message>
    <message>
        <source>Number of machines</source>
        <translation>Số máy</translation>
    </message>
    <message>
        <source>So many computers like this one, with one GPU each, share the experts of every layer among them.
A layer is done when the slowest of them is, and their results have gone over the network.</source>
        <translation>Ngần ấy máy như máy này, mỗi máy một GPU, chia nhau các chuyên gia của mỗi lớp.
Một lớp xong khi máy chậm nhất xong và kết quả đã truyền qua mạng.</translation>
    </message>
    <message>
        <source>Network between the machines</source>
        <translation>Mạng giữa các máy</translation>
    </message>
    <message>
        <source>%1 GB/s, %2 µs a message</source>
        <translation>%1 GB/s, %2 µs mỗi thông điệp</translation>
    </message>
    <message>
        <source>Of each machine</source>
        <translation>Của mỗi máy</translation>
    </message>
    <message>
        <source>What more machines would bring</source>
        <translation>Thêm máy sẽ được gì</translation>
    </message>
    <message>
        <source>machines</source>
        <translation>số máy</translation>
    </message>
    <message>
        <source>busiest</source>
        <translation>bận nhất</translation>
    </message>
    <message>
        <source>network</source>
        <translation>mạng</translation>
    </message>
    <message>
        <source>Forecasts by number of machines</source>
        <translation>Dự báo theo số máy</translation>
    </message>
    <message>
        <source>A token&apos;s experts of one layer on the machine that has most of them, on average</source>
        <translation>Số chuyên gia của một token trong một lớp trên máy có nhiều nhất, tính trung bình</translation>
    </message>
    <message>
        <source>Share of a token&apos;s time that the network takes</source>
        <translation>Phần thời gian của một token dành cho mạng</translation>
    </message>
    <message>
        <source>Forecast tokens per second over the number of machines</source>
        <translation>Số token mỗi giây dự báo theo số máy</translation>
    </message>
    <message>
        <source>The speed over the number of machines.</source>
        <translation>Tốc độ theo số máy.</translation>
    </message>
    <message>
        <source>Cancelled. What is shown was worked out before.</source>
        <translation>Đã hủy. Những gì đang hiện được tính từ trước.</translation>
    </message>
    <message>
        <source>forecast, %1 over %2</source>
        <translation>dự báo, %1 qua %2</translation>
    </message>
    <message>
        <source>chosen</source>
        <translation>đã chọn</translation>
    </message>
    <message>
        <source>%1 over %2: more machines would not be faster than one, with %3 tokens/s (forecast).</source>
        <translation>%1 qua %2: thêm máy không nhanh hơn một máy với %3 token/s (dự báo).</translation>
    </message>
    <message>
        <source>%1 over %2: fastest with %3 machines, %4 tokens/s (forecast).</source>
        <translation>%1 qua %2: nhanh nhất với %3 máy, %4 token/s (dự báo).</translation>
    </message>
    <message>
        <source>What the machines send their results over after every layer</source>
        <translation>Mạng mà các máy gửi kết quả qua sau mỗi lớp</translation>
    </message>
    <message>
        <source>One machine needs no network</source>
        <translation>Một máy thì không cần mạng</translation>
    </message>
    <message>
        <source>How fast the model is here</source>
        <translation>Mô hình chạy nhanh thế nào ở đây</translation>
    </message>
    <message>
        <source>Forecast, not measured</source>
        <translation>Dự báo, không phải đo được</translation>
    </message>
    <message>
        <source>Here, as it runs now: %1</source>
        <translation>Ở đây, như đang chạy: %1</translation>
    </message>
    <message>
        <source>not measured yet: ask something</source>
        <translation>chưa đo: hãy hỏi điều gì đó</translation>
    </message>
    <message>
        <source>It is being worked out</source>
        <translation>Đang tính</translation>
    </message>
    <message>
        <source>Open a model first</source>
        <translation>Trước hết hãy mở một mô hình</translation>
    </message>
    <message>
        <source>every machine makes each step</source>
        <translation>mọi máy thực hiện từng bước</translation>
    </message>
    <message>
        <source>desktop and helpers</source>
        <translation>máy này và máy giúp</translation>
    </message>
    <message>
        <source>Here, as it runs now with %1 (%2): %3</source>
        <translation>Ở đây, như đang chạy cùng %1 (%2): %3</translation>
    </message>
    <message>
        <source>Without: %1.</source>
        <translation>Không có: %1.</translation>
    </message>
    <message>
        <source>per 1,000 USD</source>
        <translation>mỗi 1.000 USD</translation>
    </message>
    <message>
        <source>Tokens per second for 1,000 USD that machines and network cards cost</source>
        <translation>Số token mỗi giây cho mỗi 1.000 USD tiền máy và card mạng</translation>
    </message>
    <message>
        <source> USD</source>
        <translation> USD</translation>
    </message>
    <message>
        <source>not given</source>
        <translation>chưa nhập</translation>
    </message>
    <message>
        <source>Price of a machine</source>
        <translation>Giá một máy</translation>
    </message>
    <message>
        <source>What one machine costs, without its network card. The table then says how much speed the money buys.</source>
        <translation>Giá một máy, không kể card mạng. Bảng sẽ cho biết số tiền ấy mua được tốc độ bao nhiêu.</translation>
    </message>
    <message>
        <source>%1: that CPU, not this computer&apos;s</source>
        <translation>%1: CPU đó, không phải của máy tính này</translation>
    </message>
    <message>
        <source>experts</source>
        <translation>chuyên gia</translation>
    </message>
    <message>
        <source>Experts that are on it</source>
        <translation>Số chuyên gia nằm trên đó</translation>
    </message>
    <message>
        <source>Forecasts from datasheets and this computer&apos;s measured CPU, not measurements. Experts count as in the model&apos;s files.</source>
        <translation>Dự báo từ thông số và CPU đã đo của máy này, không phải phép đo. Chuyên gia tính như trong tệp của mô hình.</translation>
    </message>
    <message>
        <source>Each token includes %1 µs measured here beyond the forecast.</source>
        <translation>Mỗi token gồm %1 µs đo được ở đây ngoài dự báo.</translation>
    </message>
    <message>
        <source>Share of an answer&apos;s expert calls that find their expert there</source>
        <translation>Tỷ lệ lần gọi chuyên gia của một câu trả lời tìm thấy chuyên gia ở đó</translation>
    </message>
    <message>
        <source>In original quality: %1.</source>
        <translation>Ở chất lượng gốc: %1.</translation>
    </message>
    <message>
        <source>Without, in original quality: %1.</source>
        <translation>Không có chúng, ở chất lượng gốc: %1.</translation>
    </message>
    <message>
        <source>%1: %2</source>
        <comment>column: its text</comment>
        <translation>%1: %2</translation>
    </message>
    <message>
        <source>Nothing is worked out yet. Press Forecast.</source>
        <translation>Chưa tính gì. Hãy nhấn “Dự báo”.</translation>
    </message>
    <message>
        <source>not measured since the last change: ask again</source>
        <translation>chưa đo lại kể từ thay đổi gần nhất: hãy hỏi lại</translation>
    </message>
</context>
</TS>
