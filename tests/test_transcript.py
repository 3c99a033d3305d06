from __future__ import annotations

import json

import pytest

from pytest_evoclaw.results import Usage
from pytest_evoclaw.transcript import EMPTY
from pytest_evoclaw.transcript import Message
from pytest_evoclaw.transcript import TextItem
from pytest_evoclaw.transcript import ToolCallItem
from pytest_evoclaw.transcript import Transcript

USAGE = Usage(
    input_tokens=60,
    output_tokens=5,
    cache_read_tokens=40,
    cache_write_tokens=0,
    request_count=1,
    source="provider",
)
CALL = ToolCallItem(id="c1", name="write_file", arguments={"path": "outputs/a", "text": "é"})
CONVERSATION = Transcript(
    (
        Message(role="user", items=(TextItem(text="Write a."),)),
        Message(role="assistant", items=(TextItem(text="Sure."), CALL), usage=USAGE),
        Message(
            role="toolResult",
            items=(TextItem(text="no such folder"),),
            tool_call_id="c1",
            tool_name="write_file",
            is_error=True,
        ),
        Message(role="assistant", items=(TextItem(text="Done."),)),
    )
)


def say(*texts: str) -> Transcript:
    return Transcript(
        tuple(Message(role="assistant", items=(TextItem(text=text),)) for text in texts)
    )


def read_one(message: object) -> Message:
    (read,) = Transcript.from_events([{"type": "message", "message": message}]).messages
    return read


def test_events_have_the_shape_that_graders_of_this_family_read():
    assert CONVERSATION.to_events() == [
        {
            "type": "message",
            "message": {"role": "user", "content": [{"type": "text", "text": "Write a."}]},
        },
        {
            "type": "message",
            "message": {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "Sure."},
                    {
                        "type": "toolCall",
                        "id": "c1",
                        "name": "write_file",
                        "arguments": {"path": "outputs/a", "text": "é"},
                    },
                ],
                "usage": {
                    "input": 60,
                    "output": 5,
                    "cacheRead": 40,
                    "cacheWrite": 0,
                    "totalTokens": 105,
                },
            },
        },
        {
            "type": "message",
            "message": {
                "role": "toolResult",
                "content": [{"type": "text", "text": "no such folder"}],
                "toolCallId": "c1",
                "toolName": "write_file",
                "isError": True,
            },
        },
        {
            "type": "message",
            "message": {"role": "assistant", "content": [{"type": "text", "text": "Done."}]},
        },
    ]


def test_events_read_back_are_the_same_transcript():
    assert Transcript.from_events(CONVERSATION.to_events()) == CONVERSATION


def test_a_cost_is_kept():
    usage = Usage(input_tokens=1, output_tokens=1, cost_usd=0.25, source="provider")
    (event,) = Transcript((Message(role="assistant", usage=usage),)).to_events()
    assert event["message"]["usage"]["cost"] == {"total": 0.25}
    (message,) = Transcript.from_events([event]).messages
    assert message.usage is not None
    assert message.usage.cost_usd == 0.25


@pytest.mark.parametrize(
    "event",
    [
        None,
        7,
        [],
        {},
        {"type": "session", "cwd": "/w"},
        {"type": "message"},
        {"type": "message", "message": "hi"},
        {"type": "message", "message": {"role": "system", "content": "x"}},
        {"type": "message", "message": {"role": ["user"], "content": "x"}},
    ],
    ids=repr,
)
def test_what_is_no_message_is_left_out(event):
    kept = say("kept")
    assert Transcript.from_events([event, *kept.to_events()]) == kept


@pytest.mark.parametrize(
    ("content", "items"),
    [
        ("plain", (TextItem(text="plain"),)),
        (None, ()),
        (7, ()),
        ([None, 3, {"type": "text"}, {"type": "image", "data": "…"}], ()),
        ([{"type": "text", "text": 3}], ()),
        ([{"type": "toolCall", "id": "x"}], ()),
        (
            [{"type": "toolCall", "name": "ls"}],
            (ToolCallItem(id="", name="ls", arguments={"_raw": None}),),
        ),
        (
            [{"type": "toolCall", "id": 4, "name": "ls", "arguments": "{broken"}],
            (ToolCallItem(id="4", name="ls", arguments={"_raw": "{broken"}),),
        ),
    ],
    ids=repr,
)
def test_content_of_any_shape_is_read_as_far_as_it_is_known(content, items):
    assert read_one({"role": "assistant", "content": content}).items == items


def test_older_names_of_usage_are_read():
    usage = read_one({"role": "assistant", "usage": {"prompt_tokens": 3, "completion_tokens": 2}})
    assert usage.usage == Usage(input_tokens=3, output_tokens=2, request_count=1, source="provider")


@pytest.mark.parametrize("value", [True, -1, "7", 1.5, None], ids=repr)
def test_a_number_of_tokens_that_is_none_is_unknown(value):
    usage = read_one({"role": "assistant", "usage": {"input": value, "output": value}}).usage
    assert usage == Usage(request_count=1, source="unknown")


@pytest.mark.parametrize("value", [True, -1, "7", float("nan"), float("inf")], ids=repr)
def test_a_cost_that_is_none_is_unknown(value):
    usage = read_one({"role": "assistant", "usage": {"cost": {"total": value}}}).usage
    assert usage is not None
    assert usage.cost_usd is None


def test_the_file_has_one_event_a_line(tmp_path):
    CONVERSATION.write_jsonl(tmp_path / "t.jsonl")
    lines = (tmp_path / "t.jsonl").read_text(encoding="utf-8").split("\n")
    assert [json.loads(line) for line in lines[:-1]] == CONVERSATION.to_events()
    assert lines[-1] == ""


def test_text_that_is_no_unicode_can_be_written_and_read_back(tmp_path):
    transcript = say("name \udcff, line\u2028separator\nand \0")
    transcript.write_jsonl(tmp_path / "t.jsonl")
    (line,) = (tmp_path / "t.jsonl").read_text(encoding="utf-8").removesuffix("\n").split("\n")
    assert Transcript.from_events([json.loads(line)]) == transcript


def test_tool_calls_are_listed_in_order():
    assert CONVERSATION.tool_calls == (CALL,)


def test_a_digest_names_who_did_what():
    assert CONVERSATION.summarise(10_000) == [
        "user: Write a.",
        "assistant: Sure.",
        'assistant calls write_file: {"path": "outputs/a", "text": "é"}',
        "error of write_file: no such folder",
        "assistant: Done.",
    ]


def test_a_digest_does_not_depend_on_the_order_of_arguments():
    turned = ToolCallItem(id="c1", name="f", arguments={"b": 1, "a": 2})
    straight = ToolCallItem(id="c1", name="f", arguments={"a": 2, "b": 1})
    first, second = (
        Transcript((Message(role="assistant", items=(call,)),)).summarise(1000)
        for call in (turned, straight)
    )
    assert first == second


def test_a_digest_cuts_a_long_text_and_says_how_much():
    (line,) = say("x" * 1000).summarise(10_000)
    assert line == f"assistant: {'x' * 600} … (400 characters more)"


def test_a_digest_leaves_out_the_middle_and_says_how_many_lines():
    lines = say(*(f"step {number:03}" for number in range(100))).summarise(200)
    assert lines[0] == "assistant: step 000"
    assert lines[-1] == "assistant: step 099"
    kept = [line for line in lines if line.startswith("assistant")]
    assert f"… {100 - len(kept)} lines left out …" in lines
    assert sum(map(len, kept)) <= 200


@pytest.mark.parametrize("limit", [0, 1, 50])
def test_a_digest_without_room_only_says_what_is_missing(limit):
    assert say("y" * 500).summarise(limit) == ["… 1 line left out …"]


def test_the_empty_transcript_has_nothing():
    assert EMPTY.to_events() == []
    assert EMPTY.summarise(100) == []
    assert Transcript.from_events([]) == EMPTY
