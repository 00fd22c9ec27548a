"""Chat templates of the shapes that models ship, written for these tests, and conversations to render with them."""


def says(*turns):
    roles = {"s": "system", "u": "user", "a": "assistant"}
    return [{"role": roles[r], "content": c} for r, c in turns]


CONVERSATIONS = [
    [],
    says(("u", "Hello")),
    says(("u", "  Who waits offstage?\n"), ("a", " The experts. "), ("u", "Why?")),
    says(("s", "Be brief."), ("u", "Hi")),
    says(("s", "  You are a prompter.\n"), ("u", "First\n\nline"), ("a", "Answer"), ("u", "Second")),
    says(("u", "one"), ("u", "two")),
    says(("a", "I begin")),
    says(("u", "q"), ("a", "r")),
    says(("s", "only a system")),
    says(("u", ""), ("a", ""), ("u", "")),
    says(("u", "Ünïcödé 演员 👩‍👧 'quotes' \"double\" \\ back </s> {{ x }} {% y %}"), ("a", "\ttab\r\nend"), ("u", "<b>&amp;</b>")),
    says(("s", "a"), ("s", "b"), ("u", "c")),
    says(("u", "q1"), ("a", "<think>let me see</think>\n\nr1"), ("u", "q2"), ("a", "r2"), ("u", "q3")),
    says(("u", "q1"), ("a", "<|channel>thought\nlet me see\n<channel|> r1 "), ("a", "r2<|channel>cut"), ("u", "q2")),
]

TEMPLATES = {
    # [INST] with alternation checked, everything on one line
    "inst": (
        "{{ bos_token }}{% for m in messages %}{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}"
        "{{ raise_exception('Turns must alternate user/assistant/user/assistant/...') }}{% endif %}"
        "{% if m['role'] == 'user' %}{{ '[INST] ' + m['content'] + ' [/INST]' }}"
        "{% elif m['role'] == 'assistant' %}{{ m['content'] + eos_token }}"
        "{% else %}{{ raise_exception('Only the roles user and assistant are known!') }}{% endif %}{% endfor %}"),
    # [INST] with an optional system message put into the first or last turn
    "inst_system": """{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content'] %}
    {%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set loop_messages = messages %}
{%- endif %}

{{- bos_token }}
{%- for message in loop_messages %}
    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}
        {{- raise_exception('After the optional system message, roles must alternate; turn ' ~ loop.index ~ ' does not.') }}
    {%- endif %}
    {%- if message['role'] == 'user' %}
        {%- if loop.first and system_message is defined %}
            {{- ' [INST] ' + system_message + '\\n\\n' + message['content'] + ' [/INST]' }}
        {%- else %}
            {{- ' [INST] ' + message['content'] + ' [/INST]' }}
        {%- endif %}
    {%- elif message['role'] == 'assistant' %}
        {{- ' ' + message['content'] + eos_token}}
    {%- else %}
        {{- raise_exception('Only user and assistant roles are supported, with the exception of an initial optional system message!') }}
    {%- endif %}
{%- endfor %}
""",
    # <<SYS>> inside the first turn
    "llama2": (
        "{% if messages[0]['role'] == 'system' %}{% set rest = messages[1:] %}{% set sys = messages[0]['content'] %}"
        "{% else %}{% set rest = messages %}{% set sys = false %}{% endif %}"
        "{% for m in rest %}{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Roles must alternate') }}{% endif %}"
        "{% if loop.index0 == 0 and sys != false %}{% set content = '<<SYS>>\\n' + sys + '\\n<</SYS>>\\n\\n' + m['content'] %}"
        "{% else %}{% set content = m['content'] %}{% endif %}"
        "{% if m['role'] == 'user' %}{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}"
        "{% elif m['role'] == 'assistant' %}{{ ' '  + content.strip() + ' ' + eos_token }}{% endif %}{% endfor %}"),
    # <|im_start|> with a default system prompt
    "chatml": (
        "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
        "{{ '<|im_start|>system\\nYou are a helpful assistant.<|im_end|>\\n' }}{% endif %}"
        "{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n'}}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"),
    # headers, the begin-of-text token put before the first
    "headers": (
        "{% set loop_messages = messages %}{% for message in loop_messages %}"
        "{% set content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'+ message['content'] | trim + '<|eot_id|>' %}"
        "{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}{{ content }}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}"),
    # <|user|> ... <|end|>
    "phi": (
        "{% for message in messages %}{% if message['role'] == 'system' and message['content'] %}"
        "{{'<|system|>\\n' + message['content'] + '<|end|>\\n'}}{% elif message['role'] == 'user' %}"
        "{{'<|user|>\\n' + message['content'] + '<|end|>\\n'}}{% elif message['role'] == 'assistant' %}"
        "{{'<|assistant|>\\n' + message['content'] + '<|end|>\\n'}}{% endif %}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% else %}{{ eos_token }}{% endif %}"),
    # lines of their own, white space left to trim_blocks and lstrip_blocks
    "zephyr": """{% for message in messages %}
{% if message['role'] == 'user' %}
{{ '<|user|>\\n' + message['content'] + eos_token }}
{% elif message['role'] == 'system' %}
{{ '<|system|>\\n' + message['content'] + eos_token }}
{% elif message['role'] == 'assistant' %}
{{ '<|assistant|>\\n'  + message['content'] + eos_token }}
{% endif %}
{% if loop.last and add_generation_prompt %}
{{ '<|assistant|>' }}
{% endif %}
{% endfor %}""",
    # the model's own name for the assistant, system refused
    "gemma": (
        "{{ bos_token }}{% if messages and messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}"
        "{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Roles must alternate') }}{% endif %}"
        "{% if (message['role'] == 'assistant') %}{% set role = 'model' %}{% else %}{% set role = message['role'] %}{% endif %}"
        "{{ '<start_of_turn>' + role + '\\n' + message['content'] | trim + '<end_of_turn>\\n' }}{% endfor %}"
        "{% if add_generation_prompt %}{{'<start_of_turn>model\\n'}}{% endif %}"),
    # system messages gathered in a namespace, tools asked about, thoughts of earlier turns cut out
    "gathering": """{%- if not add_generation_prompt is defined %}{% set add_generation_prompt = false %}{% endif %}
{%- set ns = namespace(is_first=false, is_tool=false, system_prompt='', is_first_sp=true) %}
{%- for message in messages %}
    {%- if message['role'] == 'system' %}
        {%- if ns.is_first_sp %}
            {%- set ns.system_prompt = ns.system_prompt + message['content'] %}
            {%- set ns.is_first_sp = false %}
        {%- else %}
            {%- set ns.system_prompt = ns.system_prompt + '\\n\\n' + message['content'] %}
        {%- endif %}
    {%- endif %}
{%- endfor %}
{#- The beginning. -#}
{{- bos_token }}{{ ns.system_prompt }}
{%- if tools is defined and tools is not none %}
    {{- tools | tojson(indent=2) }}
{%- endif %}
{%- for message in messages %}
    {%- if message['role'] == 'user' %}
        {{- '<|User|>' + message['content'] }}
    {%- endif %}
    {%- if message['role'] == 'assistant' and message['tool_calls'] is not defined and message['content'] is not none %}
        {%- set content = message['content'] %}
        {%- if '</think>' in content %}
            {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
        {%- endif %}
        {{- '<|Assistant|>' + content + eos_token }}
    {%- endif %}
{%- endfor -%}
{% if add_generation_prompt and not ns.is_tool %}{{ '<|Assistant|>' }}{% endif %}
""",
    # the last question found from the end, reasoning split off, macros
    "reasoning": """{%- macro turn(role, content='', last=false) %}
    {{- '<|im_start|>' ~ role ~ '\\n' ~ content ~ ('<|im_end|>\\n' if not last else '') }}
{%- endmacro %}
{%- if tools %}
    {{- '# Tools\\n' }}
    {%- for tool in tools %}{{ tool | tojson }}{% endfor %}
{%- elif messages and messages[0].role == 'system' %}
    {{- turn('system', messages[0].content) }}
{%- endif %}
{%- set ns = namespace(multi_step_tool=true, last_query_index=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.multi_step_tool and message.role == "user" and message.content is string and not(message.content.startswith('<tool_response>') and message.content.endswith('</tool_response>')) %}
        {%- set ns.multi_step_tool = false %}
        {%- set ns.last_query_index = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if message.content is string %}
        {%- set content = message.content %}
    {%- else %}
        {%- set content = '' %}
    {%- endif %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) %}
        {{- turn(message.role, content) }}
    {%- elif message.role == "assistant" %}
        {%- set reasoning_content = '' %}
        {%- if message.reasoning_content is string %}
            {%- set reasoning_content = message.reasoning_content %}
        {%- elif '</think>' in content %}
            {%- set reasoning_content = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
            {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
        {%- endif %}
        {%- if loop.index0 > ns.last_query_index and (loop.last or (not loop.last and reasoning_content)) %}
            {{- turn(role=message.role, content='<think>\\n' + reasoning_content.strip('\\n') + '\\n</think>\\n\\n' + content.lstrip('\\n')) }}
        {%- else %}
            {{- turn(message.role, content) }}
        {%- endif %}
        {%- if loop.nextitem is defined and loop.nextitem.role == message.role %}{{- '<again>' }}{% endif %}
        {%- if loop.previtem and loop.previtem.role == 'user' %}{{- '<answered>' }}{% endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- turn('assistant', last=true) }}
{%- endif %}
""",
    # blocks, joins and selections
    "selecting": """{% set system = messages | selectattr('role', 'equalto', 'system') | map(attribute='content') | list %}
{% set talk = messages | rejectattr("role", "equalto", "system") | list %}
{% set heading %}
[{{ system | length }}|{{ system | join(' / ') | default('none', true) | trim }}]
{% endset %}
{{ heading }}{% for m in talk if m.content | trim %}{{ loop.index }}/{{ loop.length }} {{ m.role | capitalize }}: {{ m['content'] | trim | replace("\\n", " ") }}
{%+ if not loop.last %}--
{% endif %}
{% else %}
nobody speaks
{% endfor %}
{{ (talk | last).role | upper if talk else "NOBODY" }}{{ " " ~ talk[0]["content"][:5] if talk }}
""",
    # a system message of the template's own with the date, the person's as another role, turns of channels
    "channels": """{#- The date comes from the renderer. #}
{%- macro own_system() -%}
    {%- if identity is not defined %}{% set identity = "You are the prompter." %}{% endif %}
    {{- identity + "\\n" }}
    {{- "Date: " + strftime_now("%Y-%m-%d") + "\\n\\n" }}
    {%- if effort is not defined %}{% set effort = "medium" %}{% endif %}
    {{- "Effort: " + effort }}
    {%- if tools -%}{{- "\\nTools are there." }}{%- endif -%}
{%- endmacro -%}
{{- "<|start|>system<|message|>" }}{{- own_system() }}{{- "<|end|>" }}
{%- if messages[0].role == "developer" or messages[0].role == "system" %}
    {%- set order = messages[0].content %}{%- set talk = messages[1:] %}
{%- else %}
    {%- set order = "" %}{%- set talk = messages %}
{%- endif %}
{%- if order or tools %}{{- "<|start|>developer<|message|># Orders\\n\\n" + order + "<|end|>" }}{%- endif %}
{%- set last = namespace(name=none) %}
{%- for message in talk -%}
    {%- if message.role == "assistant" -%}
        {%- if "content" in message and "<|channel|>" in message.content %}{{- raise_exception("No channels in the content") }}{%- endif %}
        {%- if "thinking" in message %}{{- "<|start|>assistant<|channel|>analysis<|message|>" + message.thinking + "<|end|>" }}{%- endif %}
        {%- if loop.last and not add_generation_prompt %}
            {{- "<|start|>assistant<|channel|>final<|message|>" + message.content + "<|return|>" }}
        {%- else %}
            {{- "<|start|>assistant<|channel|>final<|message|>" + message.content + "<|end|>" }}
            {%- set last.name = none %}
        {%- endif %}
    {%- elif message.role == "user" -%}
        {{- "<|start|>user<|message|>" + message.content + "<|end|>" }}
    {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}<|start|>assistant{%- endif -%}
""",
    # a prefix of two tokens, contents that may be lists, thoughts kept behind the last question only
    "prefix": """[MASK]<sop>
{%- macro text_of(content) -%}
    {%- if content is string -%}{{- content }}
    {%- elif content is iterable and content is not mapping -%}
        {%- for item in content -%}
            {%- if item is mapping and item.type == 'text' -%}{{- item.text }}{%- elif item is string -%}{{- item }}{%- endif -%}
        {%- endfor -%}
    {%- else -%}{{- content }}{%- endif -%}
{%- endmacro -%}
{%- set ns = namespace(last_user_index=-1) %}
{%- for m in messages %}{%- if m.role == 'user' %}{% set ns.last_user_index = loop.index0 -%}{%- endif %}{%- endfor %}
{% for m in messages %}
{%- if m.role == 'user' -%}<|user|>
{{ text_of(m.content) }}
{{- '/nothink' if (enable_thinking is defined and not enable_thinking and not text_of(m.content).endswith("/nothink")) else '' -}}
{%- elif m.role == 'assistant' -%}
<|assistant|>
{%- set reasoning = '' %}
{%- set content = text_of(m.content) %}
{%- if m.reasoning_content is string %}{%- set reasoning = m.reasoning_content %}
{%- elif '</think>' in content %}
    {%- set reasoning = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
    {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
{%- endif %}
{%- if loop.index0 > ns.last_user_index and reasoning -%}{{ '\\n<think>' + reasoning.strip() +  '</think>'}}
{%- else -%}{{ '\\n<think></think>' }}{%- endif -%}
{%- if content.strip() -%}{{ '\\n' + content.strip() }}{%- endif -%}
{%- elif m.role == 'system' -%}
<|system|>
{{ text_of(m.content) }}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}<|assistant|>{{- '\\n<think></think>' if (enable_thinking is defined and not enable_thinking) else '' -}}{%- endif -%}
""",
    # the assistant's turns under the model's own name and joined where they follow each other, thoughts between marks
    # cut out, a first turn for orders and for thinking, values written by a macro that calls itself
    "joined_turns": """{%- macro written(value, quoted=True) -%}
    {%- if value is string -%}{{- '<|"|>' + value + '<|"|>' if quoted else value -}}
    {%- elif value is boolean -%}{{- 'yes' if value else 'no' -}}
    {%- elif value is mapping -%}
        {{- '{' -}}
        {%- set seen = namespace(any=false) -%}
        {%- for key, part in value | dictsort -%}
            {%- if seen.any %},{% endif -%}{%- set seen.any = true -%}
            {{ key }}:{{- written(part, quoted=quoted) -}}
        {%- endfor -%}
        {{- '}' -}}
    {%- elif value is sequence -%}
        [{%- for part in value -%}{{- written(part) -}}{{- ',' if not loop.last -}}{%- endfor -%}]
    {%- else -%}{{- value -}}
    {%- endif -%}
{%- endmacro -%}
{%- macro without_thoughts(text) -%}
    {%- set kept = namespace(text='') -%}
    {%- for part in text.split('<channel|>') -%}
        {%- set kept.text = kept.text + (part.split('<|channel>')[0] if '<|channel>' in part else part) -%}
    {%- endfor -%}
    {{- kept.text | trim -}}
{%- endmacro -%}
{%- set talk = messages -%}
{%- set thinks = enable_thinking is defined and enable_thinking -%}
{{- bos_token -}}
{%- if thinks or tools or (messages and messages[0]['role'] in ['system', 'developer']) -%}
    {{- '<|turn>system\\n' -}}
    {%- if thinks -%}{{- '<|think|>\\n' -}}{%- endif -%}
    {%- if messages and messages[0]['role'] in ['system', 'developer'] -%}
        {{- messages[0]['content'] | trim -}}{%- set talk = messages[1:] -%}
    {%- endif -%}
    {%- if tools %}{%- for tool in tools %}{{- '<|tool>' + written(tool) + '<tool|>' -}}{%- endfor %}{%- endif -%}
    {{- '<turn|>\\n' -}}
{%- endif %}

{%- for message in talk -%}
    {%- set role = 'model' if message['role'] == 'assistant' else message['role'] -%}
    {%- set before = namespace(role=None, found=false) -%}
    {%- for i in range(loop.index0 - 1, -1, -1) -%}
        {%- if not before.found and talk[i]['role'] != 'tool' -%}
            {%- set before.role = talk[i]['role'] -%}{%- set before.found = true -%}
        {%- endif -%}
    {%- endfor -%}
    {%- set goes_on = role == 'model' and before.role == 'assistant' -%}
    {%- if not goes_on -%}{{- '<|turn>' + role + '\\n' }}{%- endif -%}
    {%- set thought = message.get('reasoning') or message.get('reasoning_content') -%}
    {%- if thought and loop.last -%}{{- '<|channel>thought\\n' + thought + '\\n<channel|>' -}}{%- endif -%}
    {%- if message['content'] is string -%}
        {{- without_thoughts(message['content']) if role == 'model' else message['content'] | trim -}}
    {%- else -%}{{- written(message.get('content'), quoted=False) -}}
    {%- endif -%}
    {{- '<turn|>\\n' -}}
{%- endfor -%}
{{- written({'b': [1, 'two', none], 'A': {'on': true, 'c': 0.5}}) -}}
{%- if add_generation_prompt -%}
    {{- '<|turn>model\\n' -}}
    {%- if not thinks -%}{{- '<|channel>thought\\n<channel|>' -}}{%- endif -%}
{%- endif -%}
""",
    # the date in words in a default system message, declarations sorted by name
    "declarations": """{%- set known = {'beta': {'type': 'string'}, 'Alpha': {'type': 'integer', 'enum': ['x', 'é']}, 'gamma': {}} -%}
{%- if messages and messages[0]['role'] == 'system' -%}
    {%- set system_message = messages[0]['content'] -%}{%- set loop_messages = messages[1:] -%}
{%- else -%}
    {%- set system_message = "Knowledge ends in April. Today's Date: " + strftime_now('%B %d, %Y') + ".\\nYou are the prompter." -%}
    {%- set loop_messages = messages -%}
{%- endif -%}
<|start_of_role|>system<|end_of_role|>{{ system_message }}<|end_of_text|>
{%- for name, declaration in known | dictsort %}
{{ loop.index }}. {{ name }}: {{ declaration | tojson(separators=(',', ':')) }}{{ declaration | tojson(ensure_ascii=True) }}
{%- endfor %}
{% for message in loop_messages -%}
<|start_of_role|>{{ message['role'] }}<|end_of_role|>{{ message['content'] }}<|end_of_text|>
{% if loop.last and add_generation_prompt -%}<|start_of_role|>assistant<|end_of_role|>{%- endif -%}
{% endfor %}""",
}

# One construct each, rendered with a conversation of three turns (user, assistant, user).
SNIPPETS = [
    "", "plain", "{{ 1 }}", "{{ 'a' 'b' }}", "{{ -3 % 5 }} {{ 3 % -5 }} {{ -7 // 2 }} {{ 7 / 2 }} {{ 2 ** 10 }} {{ 2 ** -1 }} {{ 4 / 2 }}",
    "{{ 1 + 2 * 3 }} {{ (1 + 2) * 3 }} {{ 10 - 2 - 3 }} {{ 1.5 + 1 }} {{ 1e3 }} {{ 1e16 }} {{ 1e-5 }} {{ 0.1 + 0.2 }} {{ 1_000 }}",
    "{{ true }} {{ False }} {{ none }} {{ True and 1 }} {{ 0 or 'x' }} {{ not 0 }} {{ true + true }}",
    "{{ [1, 'a', \"it's\", none, true, 1.0] }} {{ (1,) }} {{ () }} {{ (1, 2) }} {{ {'a': 1, 'b': [2]} }} {{ {} }}",
    "{{ 1 < 2 < 3 }} {{ 3 > 2 > 2 }} {{ 'a' < 'b' }} {{ 1 == 1.0 }} {{ '1' == 1 }} {{ [1] == [1] }} {{ 1 != 2 }} {{ (1, 2) < (1, 3) }}",
    "{{ 'a' in 'cat' }} {{ 'x' not in 'cat' }} {{ 1 in [1, 2] }} {{ 'k' in {'k': 1} }} {{ not 1 in [2] }} {{ 'a' in undefined_thing }}",
    "{{ 'a' if 1 else 'b' }} {{ 'a' if 0 else 'b' }} [{{ 'a' if 0 }}] {{ 'x' if 0 else 'y' if 0 else 'z' }}",
    "{{ 1 ~ 'a' ~ none ~ 2.0 ~ [1] }}", "{{ 'a' * 3 }} {{ [1] * 2 }} {{ [1] + [2] }} {{ 3 * 'ab' }} {{ 'a' * -1 }}",
    "{{ missing }}|{{ missing is defined }}|{{ missing | default('d') }}|{{ missing | length }}|{{ missing ~ 'x' }}|{{ missing == nothing }}",
    "{{ missing.attribute }}", "{{ missing + 'x' }}", "{{ messages[0].nothing }}|", "{{ messages[0].nothing.more }}", "{{ messages[99] }}|",
    "{{ messages[-1].content }} {{ messages[0]['role'] }} {{ messages.0.role }} {{ messages | length }} {{ messages[1:] | length }}",
    "{{ 'hello'[1] }} {{ 'hello'[-1] }} {{ 'hello'[1:3] }} {{ 'hello'[::-1] }} {{ 'hello'[:-1] }} {{ 'hello'[10:] }}| {{ 'hello'[3:1] }}| {{ [1,2,3,4][::2] }} {{ 'hello'[-3:] }} {{ (1,2,3)[1:] }}",
    "{{ 'héllo wörld'[1:4] }} {{ 'héllo' | length }} {{ '演员'[0] }} {{ '👩‍👧' | length }} {{ '演员在'[::-1] }}",
    "{{ [1,2,3,4,5][10:0:-2] }} {{ [1,2,3][-2:] }} {{ [1,2,3][none:none] }} {{ 'abc'[5:1:-1] }}|{{ 'abc'[-9:9] }}",
    "{{ '  x y  ' | trim }}| {{ 'xxaxx' | trim('x') }} {{ '\\u00a0\\u2003x\\u3000' | trim }}| {{ 'abc'.strip('ac') }} {{ ' a '.lstrip() }}| {{ ' a '.rstrip() }}| {{ 'a\\x1c' | trim }}|",
    "{{ 'HeLLo wORLD-foo_bar (baz) x' | title }} {{ 'HeLLo wORLD-foo_bar it\\'s'.title() }} {{ 'hELLO wORLD' | capitalize }} {{ 'aB' | upper }} {{ 'aB' | lower }} {{ 'hELLO'.capitalize() }}",
    "{{ 'straße ÀÉ ñ' | upper }} {{ 'STRASSE ÀÉ Ñ' | lower }} {{ 'привет Ёлка' | upper }} {{ 'ΑΒΓ άέ' | lower }} {{ 'αβγς άέ' | upper }} {{ 'čšž ŁÓDŹ' | upper }} {{ 'ŸÿµĲĸŉſ' | upper }}",
    "{{ 'a,b,,c'.split(',') }} {{ ' a  b c '.split() }} {{ 'a b c'.split(' ', 1) }} {{ 'a b c'.split(none, 1) }} {{ ''.split() }} {{ ''.split(',') }} {{ 'abc'.split('bc') }} {{ ' a b  c '.split(maxsplit=1) }}",
    "{{ 'abcabc'.replace('b', 'X') }} {{ 'abcabc' | replace('b', 'X', 1) }} {{ 'abc'.replace('', '-') }} {{ 'abc'.replace('', '-', 2) }} {{ 'aaa'.replace('aa', 'b') }} {{ 'abab'.replace('a', '', 1) }}",
    "{{ 'abc'.startswith('ab') }} {{ 'abc'.endswith(('x', 'c')) }} {{ 'abc'.startswith('') }} {{ 'abcb'.find('b') }} {{ 'abc'.find('z') }} {{ 'äbc'.find('c') }} {{ 'banana'.count('an') }} {{ ', '.join(['a', 'b']) }}",
    "{{ 'ab'.removeprefix('a') }} {{ 'ab'.removesuffix('b') }} {{ '12'.isdigit() }} {{ ''.isdigit() }} {{ 'a\\nb\\r\\nc\\n'.splitlines() }}",
    "{{ [3, 1, 2] | first }} {{ [3, 1, 2] | last }} {{ 'abc' | first }} {{ 'abc' | last }} {{ [] | first }}| {{ [1, 2] | join }} {{ [1, none, 'a'] | join(', ') }} {{ messages | join('+', attribute='role') }}",
    "{{ {'b': 1, 'a': [true, none, 1.5, 'é\"\\n\\t\\u0001</x>']} | tojson }} {{ [1, {'a': {}}, []] | tojson(indent=2) }} {{ 'x' | tojson }} {{ 1 | tojson }} {{ {1: 2} | tojson }} {{ [1] | tojson(indent=none) }}",
    "{{ missing | tojson }}", "{{ '12' | int }} {{ ' 7 ' | int }} {{ '3.9' | int }} {{ 'x' | int }} {{ 'x' | int(5) }} {{ 3.9 | int }} {{ -3.9 | int }} {{ '1.5' | float }} {{ 'x' | float }} {{ true | int }} {{ none | int }} {{ '+5' | int }} {{ '-5' | int }}",
    "{{ 5 | string + '!' }} {{ [1] | string | length }} {{ -3 | abs }} {{ [1, 2, 3] | reverse | list }} {{ 'abc' | reverse }} {{ 'abc' | list }} {{ {'a': 1} | list }} {{ (1, 2) | list }}",
    "{% for k, v in {'a': 1, 'b': 2}.items() %}{{ k }}={{ v }};{% endfor %}{% for k in {'a': 1} %}{{ k }}{% endfor %}{% for k, v in {'a': 1} | items %}{{ k }}{{ v }}{% endfor %}{{ {'a': 1}.get('a') }}{{ {'a': 1}.get('b') }}{{ {'a': 1}.get('b', 'c') }}",
    "{% for x in [1, 2, 3] %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}[{{ loop.previtem }}{{ loop.nextitem }}] {% endfor %}",
    "{% for x in [1, 2, 3, 4] if x is even %}{{ x }}{{ loop.length }} {% else %}none{% endfor %}{% for x in [] %}x{% else %}empty{% endfor %}{% for x in missing %}x{% else %}undefined{% endfor %}",
    "{% for x in [1, 2, 3] %}{% if x == 2 %}{% continue %}{% endif %}{{ x }}{% if x == 3 %}{% break %}{% endif %}{% else %}else{% endfor %}",
    "{% set x = 1 %}{% for y in [1, 2] %}{% set x = x + y %}{{ x }}{% endfor %}{{ x }}{% if true %}{% set x = 9 %}{% endif %}{{ x }}",
    "{% set ns = namespace(n=0) %}{% for y in range(5) %}{% set ns.n = ns.n + y %}{% endfor %}{{ ns.n }}{% set ns.other = 'o' %}{{ ns.other }}{{ ns.none_such }}|",
    "{% set a, b = 1, 'two' %}{{ a }}{{ b }}{% set (c, d) = [3, 4] %}{{ c }}{{ d }}{% for i, p in [(1, 2)] %}{{ i }}{{ p }}{% endfor %}",
    "{% set block %} in {{ 1 + 1 }} {% endset %}[{{ block }}]{{ block | length }}",
    "{% macro m(a, b='B', c=none) %}<{{ a }}{{ b }}{{ c }}>{% endmacro %}{{ m(1) }}{{ m(1, 2) }}{{ m(b=3, a=4) }}{{ m() }}{{ m(1, c=m(2)) | length }}",
    "{% set g = 'global' %}{% macro m() %}{{ g }}{{ messages | length }}{% endmacro %}{% set g = 'later' %}{% for x in [1] %}{% set g = 'loop' %}{{ m() }}{% endfor %}",
    "{{ range(3) | list }} {{ range(1, 4) | list }} {{ range(5, 0, -2) | list }} {{ range(0) | list }}",
    "{{ 1 is number }}{{ 'a' is string }}{{ [] is iterable }}{{ {} is mapping }}{{ none is none }}{{ 1 is integer }}{{ 1.0 is float }}{{ true is boolean }}{{ true is true }}{{ 1 is true }}{{ true is number }}{{ true is integer }}{{ 'a' is sequence }}{{ {} is sequence }}{{ 1 is iterable }}",
    "{{ 3 is odd }}{{ 4 is even }}{{ 9 is divisibleby 3 }}{{ 9 is divisibleby(2) }}{{ 1 is eq 1 }}{{ 1 is ne(2) }}{{ 2 is gt 1 }}{{ 1 is in [1] }}{{ 1 is not none }}{{ 'A' is upper }}{{ 'a1' is lower }}{{ none is not defined }}{{ 'x' is sameas none }}",
    "{{ raise_exception('own words: ' ~ 1) }}", "before{{ raise_exception('x') }}", "{{ unknown_function() }}", "{{ 'a' + 1 }}", "{{ 1 / 0 }}", "{{ none.x }}|{{ none }}", "{{ 'a' < 1 }}",
    "{{ messages is string }}{{ messages[0] is mapping }}{{ messages[0].content is string }}{{ raise_exception is defined }}{{ strftime_now is defined }}",
    "a\n{% if true %}\nb\n{% endif %}\nc\n", "  {% if true %}  x  {% endif %}  \n  y", "a  {%- if true -%}  b  {%- endif -%}  c", "  {{ 1 }}  \n  {{- 2 -}}  \n  3",
    "{# comment #}\nx{# two\nlines #}y{#- dash -#} z", "  {# indented #}\nx\n  {#- a -#}  \n y", "\t{%+ if true %}a{% endif +%}\nb", "a\r\nb\rc\n", "a\n\n", "\n{% set x = 1 %}\n\n{{ x }}\n",
    "x {% set y = 1 %}\n  z", "{% if true %}\n  {% if true %}\n    deep\n  {% endif %}\n{% endif %}\nend", "{{ '{%' }}{{ \"}}\" }}{{ '%}' }}", "{ { % } # {a} {", "{{ {'a': {'b': 1}}['a']['b'] }}", "{%- set x = {'a': 1} -%} {{ x.a }} {%- if x['a'] %} y{% endif -%} ",
    "{{ '\\n\\t\\\\\\'\\\"\\x41\\u00e9\\U0001F600\\101\\q' }}", "{{ \"multi\nline\" }}", "{{ 'a' ~\n  'b' }}", "{% if 1 %}a{% elif 2 %}b{% else %}c{% endif %}{% if 0 %}a{% elif 2 %}b{% else %}c{% endif %}{% if 0 %}a{% elif 0 %}b{% else %}c{% endif %}",
    "{{ messages | map(attribute='role') | list }} {{ messages | selectattr('role', 'equalto', 'user') | list | length }} {{ messages | map('length') | list }} {{ ['a', ' b '] | map('trim') | map('upper') | join('-') }} {{ [1, 2, 3] | select('odd') | list }} {{ [0, 1] | select | list }} {{ [1, 2] | reject('odd') | list }} {{ messages | selectattr('nothing') | list }} {{ messages | rejectattr('role', 'in', ['user']) | map(attribute='content') | list }} {{ [{'a': {'b': 5}}] | map(attribute='a.b') | first }}",
    "{{ messages[0] }}", "{{ messages[0] | tojson }}", "{{ '' is defined and '' }}", "{{ 'x' if missing is defined and missing else 'y' }}", "{{ (messages | last)['content'] | trim }}",
    "{{ [1, 2, 3] | length > 2 and 'big' }}", "{{ not 'a' == 'b' }}", "{{ -1 | abs }} {{ - 1 + 2 }} {{ +1 }} {{ 2 - -1 }} {{ -2 ** 2 }}", "{{ 'a' ~ 'b' | upper }} {{ ('a' ~ 'b') | upper }} {{ 1 + 2 | string | length }}",
    "{{ [[1, 2], [3]] | map('first') | list }}", "{{ {'a': 1}.keys() | list }} {{ {'a': 1}.values() | list }}", "{{ loop }}", "{% for a in [1] %}{% for b in [1, 2] %}{{ loop.index }}{% endfor %}{{ loop.index }}{% endfor %}",
    "{% for c in 'aé' %}{{ c }}.{% endfor %}", "{{ 1 if true }}{{ 2 if false }}", "{{ messages[0].items() | list | length }}", "{% set x = messages[0] %}{% set y = x.role %}{{ y }}", "{{ 5 // 0 }}", "{{ 5 % 0 }}", "{{ {'a': 1, 'a': 2} }}",
    "{{ 9223372036854775807 }} {{ 0.5 }} {{ 100.0 }} {{ 1.0e10 }} {{ 123456789.125 }} {{ 1e22 }} {{ 1.5e300 }} {{ 0.0001 }} {{ 0.00001234 }} {{ -0.0 }} {{ 7.0 // 2 }} {{ -7.5 % 2 }} {{ 2 ** 0.5 }}",
    "{% if messages | selectattr('role', 'equalto', 'nobody') %}generator{% else %}list{% endif %}", "{{ [1] | map('string') | length }}", "{{ ([1] | reverse)[0] }}|{{ 'yes' if {} | items }}", "{{ loop is defined }}{{ 'a' is defined }}", "{{ 'tab\\there' | tojson }} {{ '\\x7f\\u2028' | tojson }}", "{{ [1, [2, [3]]] }} {{ [(1, 'a')] }} {{ {'k': (1,)} }}", "{{ 'q\"q' }} {{ ['q\"q', \"q'q\", 'q\"\\'q', '\\n\\\\', '\\x01é'] }}",
    "{{ strftime_now('%d %b %Y') }}|{{ strftime_now('%A, %d %B %y, %H:%M:%S %I%p %j 100%% %a') }}|{{ strftime_now('') }}",
    "{{ {'b': 1, 'A': 2, 'c': 0} | dictsort }} {{ {'b': 1, 'A': 2} | dictsort(true) }} {{ {'b': 1, 'A': 2, 'c': 0} | dictsort(by='value') }} {{ {'b': 1, 'A': 2} | dictsort(reverse=true) }} {{ {1: 2, 0: 3} | dictsort }}",
    "{{ [3, 1, 2] | sort }} {{ ['b', 'A', 'c'] | sort }} {{ ['b', 'A', 'c'] | sort(case_sensitive=true) }} {{ [3, 1, 2] | sort(reverse=true) }} {{ messages | sort(attribute='content') | map(attribute='role') | list }}", "{{ [1, 'a'] | sort }}", "{{ 1 | dictsort }}",
    "{{ ['a', 'A', 'b', 1, 1, 'a'] | unique | list }} {{ [] | unique | list }}",
    "{{ 'a\nb\n\nc' | indent }}|{{ 'a\nb' | indent(2) }}|{{ 'a\nb' | indent(1, true) }}|{{ 'a\n\nb' | indent(2, blank=true) }}|{{ 'a\n' | indent(2) }}|{{ 'a\nb' | indent('> ') }}|{{ '' | indent(2) }}",
    "{{ {'a': [1, 'é👩\x7f'], 'b': {}} | tojson(separators=(',', ':')) }} {{ 'é👩\x7f\x01' | tojson(ensure_ascii=true) }} {{ [1, 2] | tojson(separators=(' ; ', '='), indent=1) }} {{ ['é'] | tojson(ensure_ascii=True, indent=2) }}",
    "{{ '{} and {}'.format(1, 'b') }} {{ '{1}{0}'.format('a', 'b') }} {{ '{x}-{x}'.format(x=none) }} {{ '{{}}{}'.format([1, 'a']) }} {{ '{0.role} {0[content]} {1[0]}'.format(messages[0], [7]) }}",
    "{{ '{:>5}|{:<5}|{:^5}|{:*^6}|{:é>4}'.format('ab', 'ab', 'ab', 'ab', 'ab') }} {{ '{:.2}|{:5.1}|'.format('äbc', 'abc') }} {{ '{!r} {!s} {!r:>8}'.format('a', 'b', 'c') }}",
    "{{ '{:d} {:5d} {:<5d}| {:05d} {:+d} {: d} {:,} {:_}'.format(1, 2, 3, -4, 5, 6, 1234567, -1234567) }} {{ '{:x} {:X} {:#x} {:o} {:b} {:#010b}'.format(255, 255, 255, 8, 5, 5) }} {{ '{}{:5}|{:d}'.format(true, true, true) }}",
    "{{ '{:.2f} {:8.3f} {:08.2f} {:.0f} {:e} {:.3E} {:g} {:.3g} {:%} {:.1%} {:+.1f} {:,.2f}'.format(1.005, 2.5, -3.14159, 2.5, 12345.678, 0.00012, 1e20, 3.14159, 0.5, 0.125, 2, 1234567.891) }} {{ '{} {:10} {}'.format(1.0, 2.5, 1e16) }}",
    "{{ '{}'.format(missing) }}|{{ '{:>4}'.format(missing) }}", "{{ '{} {}'.format(1) }}", "{{ '{a}'.format(b=1) }}", "{{ '{'.format(1) }}", "{{ '}'.format(1) }}", "{{ '{} {0}'.format(1) }}", "{{ '{:d}'.format('a') }}", "{{ '{:5}'.format([1]) }}", "{{ '{:s}'.format(1) }}",
    "{{ '%s is %d' % ('a', 3) }} {{ '%s' % 'x' }} {{ '%s' % [1] }} {{ '%(a)s %(b)03d' % {'a': none, 'b': 7} }} {{ '100%%' % () }} {{ '%5s|%-5s|%.2s|%r' % ('ab', 'ab', 'abc', 'q') }} {{ '%s' % (none,) }}",
    "{{ '%5d|%-5d|%05d|%+d|% d|%i|%u' % (1, 2, 3, 4, 5, 6, 7) }} {{ '%d %d' % (3.9, true) }} {{ '%x %X %o' % (255, 255, 8) }} {{ '%.2f %8.3f %08.2f %e %g %G %.0f' % (1.005, 2.5, -3.14159, 12345.678, 1e20, 1e-7, 0.5) }}",
    "{{ '%s %s' % ('a',) }}", "{{ '%s' % ('a', 'b') }}", "{{ 'x' % 'y' }}", "{{ 'x' % [] }}{{ 'x' % {'a': 1} }}", "{{ '%d' % 'a' }}", "{{ '%(a)s' % {'b': 1} }}", "{{ '%(a)s' % 1 }}", "{{ '%' % 1 }}", "{{ '%s' % missing }}|",
    "{{ '%s, %s!' | format('Hello', 'you') }} {{ '%(a)s' | format(a=1) }}", "{{ '%s' | format }}",
    "{{ none | selectattr('a') | list }}{{ tools | selectattr('type', 'equalto', 'x') | list | length }}{{ none | map(attribute='a') | list }}{{ none | select | list }}{{ none | rejectattr('a') | list }}{{ 0 | map('upper') | list }}{{ '' | reject | list }}{% if tools | selectattr('a') %}generator{% endif %}",
    "{{ 1 | selectattr('a') | list }}", "{{ none | length }}", "{{ none | join }}", "{{ none | first }}", "{{ none | list }}", "{{ none | items | list }}", "{{ none | sort }}", "{{ none | unique | list }}", "{{ none | reverse }}", "{{ none | dictsort }}", "{{ none | indent }}", "{{ 3 | indent }}", "{{ none | sum }}", "{{ none | abs }}", "{{ none | round }}",
    "{{ none | trim }} {{ none | upper }} {{ none | replace('N', 'n') }} {{ none | string }} {{ none | tojson }} {{ none | default('x') }} {{ none | default('x', true) }} {{ none | float }} {{ none | capitalize }} {{ none | title }} {{ none | escape }}",
    "{% set n = namespace(a=1) %}{% set d = {'n': n, 'l': [n]} %}{% set n.a = 2 %}{{ d.n.a }}{{ d.l[0].a }}{% set m = namespace() %}{% set m.n = n %}{% set n.m = m %}{{ m.n.m.n.a }}{{ n in d.l }}{{ n == m }}{% for x in [n, m] %}{{ x is mapping }}{% endfor %}{{ [n] | map(attribute='a') | list }}",
    "{% set n = namespace(items=[]) %}{% for m in messages %}{% set n.items = n.items + [namespace(r=m.role)] %}{% endfor %}{{ n['items'] | map(attribute='r') | join(',') }}",
    "{{ [1, 2, 3] | sum }} {{ [] | sum }} {{ [1.5, 2] | sum }} {{ [{'a': 1}, {'a': 2}] | sum(attribute='a') }} {{ [1] | sum(start=5) }} {{ [[1], [2]] | sum(start=[]) }} {{ [true, 2] | sum('') if false }}", "{{ ['a'] | sum }}", "{{ ['a'] | sum(start='') }}", "{{ 5 | sum }}",
    "{{ [3, 1, 2] | min }} {{ [3, 1, 2] | max }} {{ ['b', 'A'] | min }} {{ ['b', 'A'] | min(case_sensitive=true) }} {{ ['a', 'A'] | min }}{{ ['a', 'A'] | max }} {{ [] | min }}| {{ [{'a': 2}, {'a': 1}] | min(attribute='a') }} {{ 'hello' | max }} {{ [1, 1.0] | max }} {{ [] | max is defined }}", "{{ [1, 'a'] | max }}", "{{ none | min }}",
    "{{ 42.55 | round }} {{ 42.55 | round(1) }} {{ 42.55 | round(1, 'floor') }} {{ 42.55 | round(1, 'ceil') }} {{ 2.5 | round }} {{ 3.5 | round }} {{ 2.675 | round(2) }} {{ 7 | round }} {{ 7 | round(1) }} {{ 7 | round(0, 'ceil') }} {{ -0.5 | round }} {{ 1e20 | round }} {{ true | round }} {{ 3.7 | round | int }}", "{{ 'a' | round }}", "{{ 1.5 | round(0, 'up') }}",
    "{{ '<a href=\"x\">\\'&amp;' | escape }} {{ '<' | e }} {{ 5 | e }} {{ [1, '<'] | e }} {{ '<b>' | forceescape }} {{ missing | e }}|",
    "{{ dict(a=1, b='x') }} {{ dict() }} {{ dict({'a': 1}, b=2) }} {{ dict({'a': 1}, a=2).a }} {{ dict(a=1) == {'a': 1} }} {{ dict is defined }}",
    "{{ 'a,b,c'.rsplit(',', 1) }} {{ 'a,b,c'.rsplit(',') }} {{ ' a b  c '.rsplit() }} {{ ' a b  c '.rsplit(none, 1) }} {{ 'a b  c'.rsplit(maxsplit=1) }} {{ 'abc'.rsplit('x', 2) }} {{ 'a,b'.rsplit(',', 0) }} {{ ''.rsplit(',') }} {{ ' a b c '.rsplit(none, 0) }} {{ 'aaa'.rsplit('aa', 1) }}",
    "{{ 'a-b-c'.partition('-') }} {{ 'a-b-c'.rpartition('-') }} {{ 'abc'.partition('-') }} {{ 'abc'.rpartition('-') }} {{ 'banana'.rfind('an') }} {{ 'banana'.index('an') }} {{ 'banana'.rindex('an') }} {{ 'a'.rfind('x') }}", "{{ 'a'.index('x') }}", "{{ 'a'.rindex('x') }}",
    "{{ 'ab'.ljust(4) }}|{{ 'ab'.rjust(4, '.') }}|{{ 'ab'.center(5) }}|{{ 'ab'.center(7, '*') }}|{{ 'abc'.center(6, '*') }}|{{ 'abc'.center(4, '*') }}|{{ '5'.zfill(3) }}|{{ '-5'.zfill(4) }}|{{ 'abc'.zfill(2) }}|{{ 'ä'.ljust(3, 'é') }}",
    "{{ ' \\n'.isspace() }} {{ ''.isspace() }} {{ 'AB1'.isupper() }} {{ 'ab'.isupper() }} {{ 'ab1'.islower() }} {{ '1'.islower() }}",
    "{{ 'a\\vb\\fc\\x1cd\\x85e\\u2028f\\r\\ng\\r'.splitlines() }} {{ 'a\\nb\\n'.splitlines(true) }} {{ 'a\\n\\nb'.splitlines(keepends=true) }} {{ 'a\\r\\nb\\rc' | indent(2) }}|{{ 'a\\r' | indent(1) }}|{{ '\\n' | indent(1, blank=true) }}|{{ 'a\\x85b' | indent(1, true) }}",
    "{% macro m(x) %}<{{ x }}>{{ caller() }}</{{ x }}>{% endmacro %}{% call m('a') %}body{{ 1 }}{% endcall %}|{% call m('b') %}{% call m('c') %}in{% endcall %}{% endcall %}",
    "{% macro each(l) %}{% for x in l %}{{ caller(x, loop.index) }}{% endfor %}{% endmacro %}{% call(x, i) each(['a', 'b']) %}{{ i }}{{ x }};{% endcall %}", "{% macro m() %}{{ caller('v') }}{% endmacro %}{% set y = 2 %}{% call(a, b='d') m() %}{{ a }}{{ b }}{{ y }}{% endcall %}",
    "{% macro m() %}none{% endmacro %}{% call m() %}x{% endcall %}", "{% macro m() %}{{ caller is defined }}{% if caller %}{{ caller() }}{% endif %}{% endmacro %}{{ m() }}{% call m() %}x{% endcall %}", "{% call missing() %}x{% endcall %}",
    "{% for x in [{'n': 1, 'c': [{'n': 2, 'c': [{'n': 3}]}, {'n': 4}]}, {'n': 5}] recursive %}{{ x.n }}({{ loop.depth }}{{ loop.depth0 }}{{ loop.index }}{% if x.c %}{{ loop(x.c) }}{% endif %}){% endfor %}", "{% for x in [[1, [2]], [3]] recursive %}{% if x is number %}{{ x }}{% else %}[{{ loop(x) }}]{% endif %}{% else %}empty{% endfor %}", "{% for x in [1] %}{{ loop([2]) }}{% endfor %}", "{% for x in [3, 4] if x > 3 recursive %}{{ x }}{% if x == 4 %}{{ loop([9, 1]) }}{% endif %}{% endfor %}",
    "{% filter upper %}a{{ 'b' }}{% endfilter %}{% filter trim | replace('x', 'y') %}  xx {% endfilter %}|{% set v | trim %} a {% endset %}{{ v }}|{% set v | upper | replace('A', '-') %}banana{% endset %}{{ v }}", "{% filter length %}abc{% endfilter %}",
    "{% for x in [1, 2] %}{{ loop.cycle('a', 'b') }}{{ loop.depth }}{% endfor %}", "{{ messages | map(attribute='content') | map('length') | max }} {{ messages | map(attribute='role') | unique | join(' ') }}",
    "{{ '{:{}}|{:>{}}|{:{}{}}|{:{a}{b}}'.format(1, 4, 'x', 3, 'y', '^', 5, 'z', a='*>', b=4) }} {{ '{0:{1}.{2}f}|{1:0{2}d}'.format(3.14159, 8, 3) }} {{ '{:{:}}|{!r:>{}}|{!s:{}}'.format('a', 3, 'b', 6, 1, '<4') }} {{ '{:{{}}'.format(1) if false }}",
    "{{ '{:{}}'.format(1) }}", "{{ '{:{:{}}}'.format(1, 2, 3) }}", "{{ '{:{'.format(1, 2) }}", "{{ '{:{}'.format(1, 2) }}", "{{ '{:}}'.format(1) }}", "{{ '{{}}{:{}}}}'.format('x', 3) }}", "{{ '{a{b}}'.format(a=1, b=2) }}", "{{ '{0:{}}'.format(1, 2) }}", "{{ '{:{0}}'.format(1, 2) }}", "{{ '{!}'.format(1) }}", "{{ '{!r'.format(1) }}", "{{ '{!rs}'.format(1) }}", "{{ '{:{x}}'.format('a', x=[1]) }}",
    "{{ '{a.b}|{a[b]}|{0[a]}|{0.a}|{l[1]}|{l[0].b}|{a.b:>{w[0]}}|{a[x y]}|{a[1]}'.format({'a': 1}, a={'b': 2, 'x y': 3, 1: 4}, l=[{'b': 5}, 6], w=[7]) }}", "{{ '{a[:]}|{a[}]}|{a[!r]}|{a[{]}'.format(a={':': 1, '}': 2, '!r': 3, '{': 4}) }}", "{{ '{a.b.c}'.format(a={'b': {'c': 1}}) }}{{ '{a.missing}'.format(a={}) }}|{{ '{a[missing]!s:>3}'.format(a={}) }}", "{{ '{a.missing.b}'.format(a={}) }}", "{{ '{a[b'.format(a=1) }}", "{{ '{a[]}'.format(a=1) }}", "{{ '{a.}'.format(a=1) }}", "{{ '{:-5}'.format('a') }}", "{{ '{:-5}|{:-d}|{: d}'.format(1, -2, 3) }}", "{{ '{0[0]}{0[-1]}'.format([1, 2]) }}|{{ '{0[0]}{1[2]}'.format([1, 2], 'abc') }}",
    "a\n  {% raw %}\n  {{ x }} {% if %} {# c #}\n  {% endraw %}\nb", "a {%- raw -%} \n {{ x }} {%- endraw -%} \n b", "{% raw %}{% endraw %}|{% raw %}{% raw %}{% endraw %}|{%raw%}{%endraw%}|{%  raw  %}{%- endraw +%}\nx", "  {%+ raw %}a\n  {%+ endraw %}\nb\n  {%- raw %}  {%- endraw %}  c", "{% raw -%}\n  {%- endraw %}|{% raw -%}\n x\n {% endraw %}\n\n y", "x {% raw %} {% endraw %}y", "{% raw %}{% endraw", "{% raw %}a", "{% raw +%}a{% endraw %}", "{% raw x %}a{% endraw %}", "{% endraw %}", "{% if false %}{% raw %}{% endif %}{% endraw %}{% endif %}a", "{{ '{% raw %}' }}{# {% raw %} #}b", "{% raw %}{% endraw x %}{% end raw %}{% endraw %}c", "{%\nraw\n%}\n{{a}}\n{%\nendraw\n%}\n{{ 1 }}",
    "{% with %}{% set x = 1 %}{{ x }}{% endwith %}{{ x is defined }}", "{% set x = 1 %}{% with x = 2, y = x %}{{ x }}{{ y }}{% set x = 3 %}{{ x }}{% endwith %}{{ x }}{{ y is defined }}", "{% with a, b = [1, 2] %}{{ a }}{{ b }}{% endwith %}|{% with (a, b) = 'xy', c = 3 %}{{ a }}{{ b }}{{ c }}{% endwith %}", "{% for i in [1, 2, 3] %}{% with j = i * 2 %}{% if j == 4 %}{% continue %}{% endif %}{{ j }}{{ loop.index }}{% if i == 3 %}{% break %}{% endif %}{% endwith %}{% endfor %}", "{% set n = namespace(a=1) %}{% with %}{% set n.a = 2 %}{% endwith %}{{ n.a }}", "{% with x = 1 %}{% macro m() %}{{ x }}{% endmacro %}{{ m() }}{% with x = 5 %}{{ m() }}{{ x }}{% endwith %}{% endwith %}", "{% macro m() %}[{{ caller() }}]{% endmacro %}{% with x = 1 if true else 2, y = [3] | first %}{% call m() %}{{ x }}{{ y }}{% endcall %}{% endwith %}", "{% with x = 1, %}{{ x }}{% endwith %}", "{% with x = 1 y = 2 %}{% endwith %}", "{% with x %}{% endwith %}", "{% with 1 = x %}{% endwith %}", "{% with x = 1 %}a", "{% endwith %}", "{% with x = missing %}{{ x is defined }}{% endwith %}", "{% with a = 1, b = 2, c = 3 -%}\n  {{ a + b + c }}\n{%- endwith %}\n", "{% with x = 1, x = 2 %}{{ x }}{% endwith %}", "{% with a, b = 1 %}{% endwith %}",
    "{{ '<' | e | e }} {{ '<' | safe | e }} {{ '<' | e | forceescape }} {{ ('<' | e) + '<' }} {{ '<' + ('<' | e) }} {{ ('<' | safe) + ('<' | safe) | e }} {{ ('<' | e) ~ '<' }} {{ ('<' ~ ('>' | e)) | e }} {{ (('<' | safe) * 2) | e }} {{ '<' | safe is escaped }}{{ '<' is escaped }}{{ '<' | safe == '<' }}",
    "{{ ('<%s|%r|%5s|%.2s>' | safe) % ('<a>', '<', '<', '<b>') }} {{ ('%s' | safe) % ('<' | e) }} {{ '%s' % ('<' | safe) | e }} {{ ('%s' % ('<' | safe)) | e }} {{ ('%d|%05.1f' | safe) % (7, 2) }} {{ ('%(a)s' | safe) % {'a': '&'} }} {{ ('%s' | safe) % ['<'] }} {{ '<%s>' | safe | format('&') }} {{ '%r' % ('<' | safe) }}",
    "{{ ('%x' | safe) % 5 }}", "{{ ('{:5}' | safe).format('<' | safe) }}", "{{ ('<' | safe).ljust(3, '<') }}",
    "{{ ('<{}|{!r}|{:>3}|{!s}>' | safe).format('<', '&', '<', '<' | safe) }} {{ ('{}{}' | safe).format('<' | safe, ['<']) }} {{ '{}{!r}'.format('<' | safe, '<' | safe) | e }} {{ ('{:{}}' | safe).format('a', '<4') if false }}",
    "{{ (', ' | safe).join(['<', '<' | safe, 1]) }} {{ ','.join(['<' | safe, '<']) | e }} {{ (['<' | safe, '<'] | join(',')) | e }} {{ ('a<' | safe).replace('a', '&') }} {{ ('a<' | safe | replace('a', '&')) | e }} {{ [('a b' | safe).split(), ('a\nb' | safe).splitlines(), ('a-b' | safe).partition('-'), 'a' | safe | upper, ' a' | safe | trim, 'ab' | safe | title, 'ab' | safe | last, 'ab' | safe | first, 'ab' | safe | reverse, ('ab' | safe)[0], ('ab' | safe)[:1], ('ab' | safe)[::-1], 'a' | safe | string, 5 | safe, ['<'] | e] }} {{ ('ab' | safe | list)[0] | e }}{% for c in '<' | safe %}{{ c | e }}{% endfor %}",
    "{{ 'a<\n<b\n' | safe | indent(1) }}|{{ '<\n<\n\n<' | indent('>' | safe) }}|{{ '<\n<' | indent('>' | safe, true) }}|{{ '<\n\n<' | indent('>' | safe, blank=true) }}|{{ '<' | safe | indent('>', true) | e }}|{% set x | e %}<{% endset %}{{ x | e }}|{% macro m() %}{{ '<' | safe }}{% endmacro %}{{ m() | e }}|{% filter e %}<{{ '<' | e }}{% endfilter %}|{{ {'<' | e: 1}['&lt;'] }}{{ ['<' | safe, '<'] | unique | list }}{{ ['<'] | map('e') | map('e') | list }}{{ '<' | safe | tojson | e }}",
    "{{ ['\\u200b', '\\xa0\\xad\\x85', ' \\u3000\\u2028\\u2029', '\\ue000\\ufeff\\u0378', '\\U000e0041\\U0010ffff', 'é👩ǅ', '\\u0600\\u180e', '\\U0001f1e6\\u0300'] }} {{ '{!r}'.format('\\u2060') }} {{ '%r' % '\\u200d' }} {{ {'\\u200b': 1} }}",
    "{{ 'ΟΔΟΣ ΑΣ Σ ΑΣ. ΑΣΑ Α’Σ Α.Σ.Α Σ́ ΑΣ́ 1Σ ªΣ' | lower }} {{ 'ΑΣ ΟΔΥΣΣΕΥΣ'.title() }} {{ 'ΑΣ-ΣΣ ΑΣΣ' | title }} {{ 'ΟΔΟΣ'.capitalize() }} {{ 'ς' | upper }} {{ ['ΑΣ', 'ας'] | unique | list }} {{ 'ΑΣ:' | lower }} {{ 'Α\\xadΣ\\xad' | lower }}",
    "{{ 'Tiếng Việt Ếế Ǆǅǆ ẞß ﬁ ŉ ǰ ΐ և ⅷⓐ ა Ꭰ 𐐀' | upper }} {{ 'TIẾNG VIỆT ǄǅǆẞßİI ⅧⒶ Ა ꭰ 𐐨' | lower }} {{ 'ǆ ﬁx ŉ ß ΐ ა'.title() }} {{ 'ßa'.capitalize() }} {{ 'ǆ ﬁx ßa' | title }} {{ 'ế'.islower() }}{{ 'Ế'.isupper() }}{{ 'ǅ'.isupper() }}{{ 'ĸ'.islower() }}{{ 'Ⅷ'.isupper() }}{{ 'ª'.islower() }}{{ 'Aª'.isupper() }}",
    "{{ 1234.5678 | round(-2) }} {{ 1250 | round(-2) }} {{ 1350 | round(-2) }} {{ 149.6 | round(-2) }} {{ 150.5 | round(-2) }} {{ -0.4 | round(-1) }} {{ -251 | round(-2) }} {{ 5 | round(-1) }} {{ 15 | round(-1) }} {{ 51 | round(-2) }} {{ 50.0 | round(-2) }} {{ 50.1 | round(-2) }} {{ 9 | round(-30) }} {{ 99.9 | round(-400) }} {{ 999 | round(-1) }} {{ 2.675 | round(30) }} {{ 0.1 | round(400) }} {{ 0.1 | round(17) }} {{ 1e300 | round(-299) }} {{ 123456 | round(-3, 'floor') }} {{ 123456.5 | round(-3, 'ceil') }} {{ -3 | round(-2, 'ceil') }} {{ 7 | round(3, 'ceil') }} {{ 9007199254740993 | round(2, 'floor') }} {{ true | round(-1) }} {{ 'inf' | float | round(1) }}",
    "{{ 1.7e308 | round(-308) }}", "{{ 'ab'.startswith(['a']) }}", "{{ 'ab'.startswith(('x', 'a')) }}",
    "{{ dict([['a', 1], ('b', 2)], c=3) }} {{ dict(['ab', 'cd']) }} {{ dict([['a', 1], ['a', 2]]) }} {{ dict({1: 'x'}, a=2) }} {{ dict('') }} {{ dict([]) }} {{ dict({'a': 1}.items()) }} {{ dict([['a', 1]] | list, a=5) }} {{ namespace([['a', 1]]).a }} {{ namespace({'a': 1}, b=2).b }}", "{{ dict(5) }}", "{{ dict([1]) }}", "{{ dict(['abc']) }}", "{{ dict({}, {}) }}", "{{ dict(missing) }}", "{{ dict(none) }}", "{{ dict([[[], 1]]) }}", "{{ namespace([], []) }}",
    "{{ {'a': 1, 'b': [2]}.items() }} {{ {'a': 1}.keys() }} {{ {'a': 1}.values() }} {{ {}.keys() }} {{ [{'a': 1}.items()] }} {{ {'a': 1}.keys()[0] }}| {{ {'a': 1}.items() | string | upper }} {{ 'x' ~ {'a': 1}.keys() }} {{ '%s' % {'a': 1}.keys() }} {{ '{}'.format({'a': 1}.values()) }}",
    "{{ range(3) }} {{ range(1, 9, 3) }} {{ range(3)[::-1] }} {{ range(9)[1:7:2] }} {{ range(5)[7:] }} {{ range(3)[0] }} {{ range(3)[-1] }} {{ range(3)[5] }}| {{ range(3) == range(0, 3) }} {{ range(3) == [0, 1, 2] }} {{ range(0) == range(2, 1) }} {{ 1.0 in range(3) }} {{ [range(2)] }} {{ range(3).index(2) }} {{ range(3).count(1) }} {{ range(3) | last }} {{ range(0) | length }} {{ 'x' % range(3) }}",
    "{{ range(3) | tojson }}", "{{ range(3) + [3] }}", "{{ range(3) * 2 }}", "{{ {}.items() | tojson }}", "{{ {'a': 1}.keys() + ['b'] }}", "{{ {'a': 1}.keys()[:1] }}", "{{ 'x' % {'a': 1}.keys() }}", "{{ [[1]] | unique | list }}", "{{ [{}] | unique | list }}", "{{ [1] in {} }}", "{{ {}.get([1]) }}", "{{ {} in {}.keys() }}", "{{ ([1] | map('int')) * 2 }}", "{{ [1] | map('int') | last }}", "{{ ([1] | map('int')) < ([1] | map('int')) }}", "{{ ([1] | map('int'))[:1] }}",
    "{{ {'a': 1}.keys() == {'a': 2}.keys() }} {{ {'a': 1}.items() == {'a': 1}.items() }} {{ {'a': 1}.values() == {'a': 1}.values() }} {{ {'a': 1}.keys() == ['a'] }} {% set v = {'a': 1}.values() %}{{ v == v }} {{ {'a': 1}.keys() is sequence }}{{ {'a': 1}.keys() is iterable }}{{ {}.items() is mapping }}{{ range(2) is sequence }}{{ [1] | map('int') is sequence }}{{ [1] | map('int') is iterable }} {{ 'a' in {'a': 1}.keys() }} {{ ('a', 1) in {'a': 1}.items() }} {{ {'b': 1, 'a': 2}.keys() | sort }} {{ {'a': 1} | reverse | list }} {{ {'a': 1, 'b': 2}.items() | reverse | list }} {{ {'a': 1, 'b': 2}.values() | last }} {{ [(1, 2), (1, 2), range(2), range(2)] | unique | list }}",
    "{% set g = [1, 2] | map('string') %}{{ g | list }}{{ g | list }}{{ g | first }}|{{ g | join }}|{{ 1 in g }}|{% for x in g %}x{% else %}empty{% endfor %}|{{ g == g }}{{ [1] | map('int') == [1] | map('int') }} {{ [1, 2] | map('string') | reverse }} {% set h = [1, 2] | reverse %}{% for x in h %}{{ x }}{% endfor %}{{ h | list }} {% set i = {'a': 1} | items %}{{ i | list }}{{ i | list }} {% set s = [1, 2, 3] | select('odd') %}{% set a, b = s %}{{ a }}{{ b }}{{ s | list }}",
    "{% set n = namespace(stop=false) %}{% for x in [1, 2, 3] if not n.stop %}{{ x }}{% set n.stop = x == 2 %}{% endfor %} {% for x in [1, 2, 3] if x > 1 %}{{ loop.index }}{{ loop.last }}{% set n.stop = x %}{% endfor %} {% set g = [n] | map(attribute='stop') %}{{ g | list }}{% set n.stop = 1 %}",
    "{% macro m(a, b='B') %}{{ a }}{{ b }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1) }} {{ m(1, 2, 3, 4) }} {{ m(1, c=5) }} {{ m(1, 2, 3, d=[6], e='7') }} {{ m() }} {% macro n(varargs='own') %}{{ varargs }}{% endmacro %}{{ n() }}{{ n(1) }} {% macro o() %}{% for x in varargs %}{{ x }}{% endfor %}{{ kwargs.items() | list }}{{ caller is defined }}{% endmacro %}{{ o(1, 2, k=3) }}{% call o(4) %}{% endcall %} {% macro p() %}{{ caller(1, 2, x=3) }}{% endmacro %}{% call(a) p() %}{{ a }}{{ varargs }}{{ kwargs }}{% endcall %}",
    "{% macro n(varargs='own') %}{{ varargs }}{% endmacro %}{{ n(1, 2) }}", "{% macro m(a) %}{{ kwargs }}{% endmacro %}{{ m(1, 2) }}", "{% macro m(a) %}{{ varargs }}{% endmacro %}{{ m(1, x=2) }}", "{% macro i() %}{{ caller() }}{% endmacro %}{% macro o() %}{% call i() %}{{ caller() }}{% endcall %}{% endmacro %}{% call o() %}x{% endcall %}", "{{ dict(a=1, a=2) }}",
    "{{ missing is callable }}{{ range is callable }}{{ 1 is callable }} {% for x in [1] %}{{ loop is callable }}{{ loop is iterable }}{{ loop is sequence }}{{ loop.nothing is defined }}{% endfor %} {{ lipsum is defined }}{{ cycler is callable }}{{ joiner is defined }} {{ none is sameas none }}{{ true is sameas true }}{{ true is sameas false }}{{ 1 is sameas true }}{{ 'a' is sameas 1 }}{% set n = namespace() %}{{ n is sameas n }}{{ n is sameas namespace() }} {{ ''.__class__ }}{{ [].__len__ is defined }}",
    "{{ [{'a': 1}, {}] | map(attribute='a', default=none) | list }} {{ [{}] | map(attribute='a.b', default='x') | list }} {{ [{'a': {}}] | map(attribute='a.b', default=0) | list }} {{ [1, 2] | map(attribute=none) | list }} {{ [0, 1] | selectattr(none) | list }} {{ [1, 2] | join(',', attribute=none) }} {{ [2, 1] | sort(attribute=none) }}",
    "{{ ' 1_000 ' | int }} {{ '1__0' | int }} {{ '_1' | int }} {{ '+1.5' | float }} {{ '+-1' | int }} {{ '1_0.5' | float }} {{ '1e3' | int }} {{ 'inf' | int(7) }} {{ '-inf' | float }} {{ '0x1f' | int }} {{ '.5' | float }} {{ '1.' | float }} {{ '' | int }} {{ '-' | int }} {{ 'é' | int }} {{ '1 2' | int }} {{ [] | int(3) }} {{ 'infinity' | float }} {{ '1(2)' | float }}",
    "{% for x in [1, 2] %}{{ x }}{% break %}{% else %}E{% endfor %} {% for x in [1, 2] %}{% if x == 2 %}{% break %}{% endif %}{{ x }}{% else %}E{% endfor %} {% for x in [1, 2] %}{{ x }}{% continue %}{% else %}E{% endfor %} {% for x in [1] %}{{ x }}{% else %}E{% endfor %} {% for x in [1, 2] %}{% for y in [3] %}{{ y }}{% break %}{% else %}{% continue %}{% endfor %}{{ x }}{% endfor %}", "{{ [{}, {}] | min(attribute='a') }}", "{{ [{'a': 1}, {}] | max(attribute='a') }}", "{{ dict[1] }}{{ 1 / 0 }}",
    "{{ 1 is defined if 1 else 2 }}", "{{ 1 is defined is true }}", "{{ 1 is eq(1) is true }} {{ 1 is eq 1 is true }} {{ 'x' if 1 is defined }} {{ 4 is divisibleby 2 ** 1 }} {{ 1 is not defined == false }}", "{% for x, y in [[1, 2], [3, 4]] if x %}{{ loop.nextitem }}{{ loop.previtem }}{% endfor %}{% for x, y in [[1, 2], [3, 4]] %}{{ loop.nextitem }}{% endfor %}",
    "{% set x = 1 %}{% set y %}{% set x = 2 %}{% set z = 3 %}{{ x }}{% endset %}{{ x }}{{ y }}{{ z is defined }}{% filter upper %}{% set x = 4 %}{% macro m() %}m{% endmacro %}{{ x }}{{ m() }}{% endfilter %}{{ x }}{{ m is defined }}", "{% for x in [] %}{% else %}{% set y = 1 %}{{ y }}{% endfor %}{{ y is defined }}",
    "{{ 0 ** -1 }}", "{{ 0.0 ** -0.5 }}", "{{ 2.0 ** 5000 }}", "{{ 'a'.replace('a', 'b', none) }}", "{{ {'a': 1} | dictsort(by='x') }}", "{{ 'a'.splitlines('x') }}", "{{ 'inf' | float | int }}",
    "{{ 4.0 % -2 }} {{ -4.0 % 2 }} {{ 5.5 % -2 }} {{ 0.0 // -2 }} {{ -7.5 // 2 }} {{ 7.0 // -2 }} {{ 1e300 // 3 }} {{ 9007199254740993 == 9007199254740992.0 }} {{ 9007199254740993 > 9007199254740992.0 }} {{ (-8) ** 3.0 }} {{ 4 ** 0.5 }} {{ 2 ** -2 }} {{ 0 ** 0 }} {{ 1e308 * 10 }} {{ 0.1 + 0.2 == 0.3 }}",
    "{% macro m() %}{% set varargs = 1 %}{{ varargs }}{% endmacro %}{{ m() }} {{ m(1, 2) }}", "{% macro m() %}{% for varargs in [5] %}{{ varargs }}{% endfor %}{% endmacro %}{{ m() }} {{ m(1) }}", "{% macro m() %}{% macro n(kwargs) %}{{ kwargs }}{% endmacro %}{{ n(2) }}{% endmacro %}{{ m() }} {{ m(k=1) }}", "{% macro m() %}{% with kwargs = kwargs %}{{ kwargs }}{% endwith %}{% endmacro %}{{ m(k=1) }}", "{% macro m() %}{% set caller = 1 %}{{ caller }}{% endmacro %}{% call m() %}x{% endcall %}",
    "{% macro m() %}{{ varargs }}{% set varargs = 1 %}{{ varargs }}{% endmacro %}{{ m(1, 2) }} {% macro o() %}{% if varargs %}{% set varargs = 2 %}{% endif %}{{ varargs }}{% endmacro %}{{ o() }}{{ o(5) }} {% macro f() %}{% filter default(varargs) %}{% set varargs = 1 %}{% endfilter %}{{ kwargs.k }}{% endmacro %}{{ f(k=1) }} {% macro w() %}{% with a = varargs %}{{ a }}{% endwith %}{% endmacro %}{{ w(3) }}",
    "{{ [[1, 2]] | map(attribute='-1') | list }} {{ [[1, 2]] | map(attribute='1') | list }} {{ [{'-1': 3}] | map(attribute='-1') | list }} {{ [{'+1': 3}] | map(attribute='+1') | list }} {{ [[[1, 2], 3]] | map(attribute='0.1') | list }}",
    "{% for (a,) in [[1], (2,)] %}{{ a }};{% endfor %}{% for (a) in [[4], 5] %}{{ a }};{% endfor %}{% for ((a)), (b) in [[6, 7]] %}{{ a }}{{ b }}{% endfor %}{% for (a, b,) in ['xy'] %}{{ a }}{{ b }}{% endfor %}",
    "{% for a, (b, c) in [[1, [2, 3]], (4, 'xy')] %}{{ a }}{{ b }}{{ c }} {% endfor %}{% for (a, b), c in [[(1, 2), 3]] if b %}{{ c }}{{ a }}{{ b }}{% endfor %}{% for i, ((a,), b) in [[0, [[1], 2]], [1, [[3], 0]]] if b %}{{ loop.length }}{{ i }}{{ a }}{{ b }}{% endfor %}",
    "{% set (a,) = [7] %}{{ a }} {% set (a, (b,)) = 1, [2] %}{{ a }}{{ b }} {% with (c, d) = (3, 4), e = 5 %}{{ c }}{{ d }}{{ e }}{% endwith %} {% set ns = namespace(x=0) %}{% set b, ns.x = a, b %}{{ ns.x }}{{ b }}",
    "{% for (a,) in [[1, 2]] %}{{ a }}{% endfor %}", "{% for a, (b, c) in [[1, 2]] %}{{ a }}{% endfor %}", "{% set a, = [1] %}{{ a }}", "{% for a, in [[1]] %}{{ a }}{% endfor %}", "{% for (a, b in [[1, 2]] %}{% endfor %}", "{% set ns = namespace(x=0) %}{% set (ns.x) = 1 %}{{ ns.x }}",
    "{{ 2.0 is even }} {{ 2.5 is odd }} {{ -3.0 is odd }} {{ 1e16 is even }} {{ -3 is odd }} {{ 7.5 is divisibleby(2.5) }} {{ 6 is divisibleby(-3) }} {{ true is odd }} {{ '%s' is even }} {{ '%d' is divisibleby 3 }}", "{{ 'a' is odd }}", "{{ none is even }}", "{{ 4 is divisibleby 0 }}", "{{ missing is odd }}",
    "{{ messages | sort(attribute='name') | map(attribute='role') | list }} {{ [none, none] | sort }} {{ [{'a': 1, 'b': 'y'}, {'a': 1, 'b': 'X'}, {'a': 0, 'b': 'z'}] | sort(attribute='a,b') | map(attribute='b') | list }} {{ [[2, 'a'], [1, 'b'], [1, 'A']] | sort(attribute='0,1') }} {{ [{'a': 'B'}, {'a': 'a'}] | sort(attribute='a', case_sensitive=true) }} {{ [{'a': 1}, {'a': 2}] | sort(true, attribute='a,b') }}", "{{ [none, 1] | sort }}", "{{ [{}, {'a': 1}] | sort(attribute='a') }}", "{{ {'a': none, 'b': none} | dictsort(by='value') }}", "{{ [none, none] | min }}",
    "{{ 'a\nb' | indent(-2) }}|{{ 'a\nb' | indent(0, true) }}",
    "{{ 'ᾀ ᾈ ᾂ ᾳ ᾼ ᾲ ᾴ ᾷ ᾧ ῼ ῂ ῄ ῲ ΐ ǰ ﬁ' | upper }} {{ 'ᾀ ᾈ ᾲ ᾴ ᾷ ῂ ῲ ᾳ'.title() }} {{ 'ᾲx' | capitalize }} {{ 'ᾼ ᾈ' | lower }}",
    "{{ 'ʰa xʰa ªb ⁿc ᵃ'.title() }} {{ 'ʰ ª ͺ ᵃ ⁿ' | upper }} {{ 'ʰ' is lower }} {{ 'xʰ'.islower() }} {{ 'Xʰ'.isupper() }} {{ 'ⁿ'.islower() }}",
    "{{ 'ab' | list(a=1) }}", "{{ 'ab' | string(1) }}", "{{ 'ab' | safe(1) }}", "{{ 007 }}", "{{ messages[01] }}", "{{ 0 }} {{ 00 }} {{ 00.5 }} {{ 0_0 }}", "{% macro m() %}a{% endmacro m %}{{ m() }}", "{% filter | upper %}a{% endfilter %}",
]
