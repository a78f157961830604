use super::*;

fn render(source: &str, messages: &[Message]) -> Result<String> {
    Template::new(source)?.render(messages, "<s>", "</s>")
}

const CHATML: &str = "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}\
    {{ '<|im_start|>system\nYou are helpful.<|im_end|>\n' }}{% endif %}\
    {{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}\
    {% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

#[test]
fn chatml_puts_its_default_system_prompt_in_front_and_opens_the_answer() {
    let text = render(CHATML, &[Message::user("Hi")]).unwrap();
    assert_eq!(
        text,
        "<|im_start|>system\nYou are helpful.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    );
}

#[test]
fn chatml_takes_a_given_system_prompt_instead() {
    let text = render(CHATML, &[Message::system("Be brief."), Message::user("Hi")]).unwrap();
    assert!(text.starts_with("<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n"), "{text}");
}

#[test]
fn the_tools_branch_of_qwen_style_templates_is_off() {
    let source = "{%- if tools %}\n    {{- tools[0] | tojson }}\n{%- else %}\n    \
        {%- if messages[0]['role'] == 'system' %}\n        {{- messages[0]['content'] }}\n    {%- else %}\n        \
        {{- 'default' }}\n    {%- endif %}\n{%- endif %}\n\
        {%- for message in messages %}\n    \
        {%- if (message.role == \"user\") or (message.role == \"system\" and not loop.first) or \
        (message.role == \"assistant\" and not message.tool_calls) %}\n        \
        {{- '|' + message.role + ':' + message.content }}\n    {%- endif %}\n{%- endfor %}\n";
    assert_eq!(
        render(source, &[Message::user("Hi"), Message::assistant("Yo")]).unwrap(),
        "default|user:Hi|assistant:Yo"
    );
}

#[test]
fn llama_style_templates_slice_strip_and_write_their_bos() {
    let source = "{% if messages[0]['role'] == 'system' %}{% set system = messages[0]['content'].strip() %}\
        {% set loop_messages = messages[1:] %}{% else %}{% set system = '' %}{% set loop_messages = messages %}{% endif %}\
        {% for message in loop_messages %}\
        {% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('roles must alternate') }}{% endif %}\
        {% if message['role'] == 'user' %}{{ bos_token + '[INST] ' + (system if loop.first else '') + message['content'].strip() + ' [/INST]' }}\
        {% else %}{{ ' ' + message['content'].strip() + ' ' + eos_token }}{% endif %}{% endfor %}";
    let turns = [Message::system(" S "), Message::user(" a "), Message::assistant("b"), Message::user("c")];
    assert_eq!(render(source, &turns).unwrap(), "<s>[INST] Sa [/INST] b </s><s>[INST] c [/INST]");
    let error = render(source, &[Message::assistant("b")]).unwrap_err();
    assert!(error.to_string().starts_with("chat template: roles must alternate"), "{error}");
}

#[test]
fn blocks_leave_no_blank_lines_as_in_transformers() {
    let source = "{% for m in messages %}\n    {% if true %}\n{{ m.content }}\n    {% endif %}\n{% endfor %}";
    assert_eq!(render(source, &[Message::user("a"), Message::user("b")]).unwrap(), "a\nb\n");
}

#[test]
fn loops_may_break_and_namespaces_may_be_set() {
    let source = "{% set ns = namespace(n=0) %}{% for m in messages %}{% if m.content == 'x' %}{% break %}{% endif %}\
        {% set ns.n = ns.n + 1 %}{% endfor %}{{ ns.n }}";
    assert_eq!(render(source, &[Message::user("a"), Message::user("x"), Message::user("b")]).unwrap(), "1");
}

#[test]
fn training_marks_do_nothing() {
    let source = "{%- generation %}bad{% endgeneration -%}".replace("bad", "{{ messages[0].content }}");
    assert_eq!(render(&source, &[Message::user("a")]).unwrap(), "a");
}

#[test]
fn json_is_spaced_as_python_spaces_it_and_not_escaped() {
    let source = "{{ {'a': [1, 'é<'], 'b': none} | tojson }}";
    assert_eq!(render(source, &[]).unwrap(), r#"{"a": [1, "é<"], "b": null}"#);
    assert_eq!(render("{{ {'a': [1]} | tojson(indent=2) }}", &[]).unwrap(), "{\n  \"a\": [\n    1\n  ]\n}");
}

#[test]
fn a_template_that_does_not_parse_is_refused_with_its_line() {
    let error = Template::new("a\n{% if %}").err().unwrap().to_string();
    assert!(error.starts_with("chat template: ") && error.contains("line 2"), "{error}");
}

#[test]
fn dates_are_written_as_strftime_writes_them() {
    let leap_day = 1_709_210_096; // 2024-02-29 12:34:56 UTC, a Thursday
    assert_eq!(strftime("%d %b %Y", leap_day), "29 Feb 2024");
    assert_eq!(strftime("%A %B %j %I:%M:%S %p %% %Q", leap_day), "Thursday February 060 12:34:56 PM % %Q");
    assert_eq!(strftime("%F %a %y %H", 0), "1970-01-01 Thu 70 00");
}
