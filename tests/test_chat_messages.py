from __future__ import annotations

import pytest

from pytest_evoclaw.chat_messages import read_message
from pytest_evoclaw.transcript import Message
from pytest_evoclaw.transcript import TextItem
from pytest_evoclaw.transcript import ToolCallItem


def make_call(arguments: object) -> dict[str, object]:
    return {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": arguments}}


def test_an_answer_has_its_text_and_then_its_calls():
    calls = [make_call('{"path": "."}')]
    message = read_message({"role": "assistant", "content": "Look.", "tool_calls": calls})
    items = (TextItem(text="Look."), ToolCallItem(id="c1", name="ls", arguments={"path": "."}))
    assert message == Message(role="assistant", items=items)


def test_a_result_names_its_call_and_tool():
    data = {"role": "tool", "tool_call_id": "c1", "name": "ls", "content": "a\nb"}
    assert read_message(data) == Message(
        role="toolResult", items=(TextItem(text="a\nb"),), tool_call_id="c1", tool_name="ls"
    )


def test_parts_that_are_no_text_are_left_out():
    parts = [{"type": "text", "text": "a"}, {"type": "image_url"}, 7, {"text": 3}]
    assert read_message({"role": "user", "content": parts}) == Message(
        role="user", items=(TextItem(text="a"),)
    )


@pytest.mark.parametrize(
    "written",
    ["{broken", "[1]", "", "7", None, 7, "[" * 100_000],
    ids=lambda written: repr(written)[:20],
)
def test_arguments_that_are_no_object_are_kept_raw(written):
    message = read_message({"role": "assistant", "tool_calls": [make_call(written)]})
    assert message is not None
    assert [call.arguments for call in message.tool_calls] == [{"_raw": written}]


@pytest.mark.parametrize("data", [None, 7, [], {}, {"role": "system"}, {"role": []}], ids=repr)
def test_what_is_no_message_is_none(data):
    assert read_message(data) is None


@pytest.mark.parametrize("calls", [None, 7, {}, [7], [{}], [{"function": {"name": 3}}]], ids=repr)
def test_calls_of_any_shape_are_read_as_far_as_they_are_known(calls):
    message = read_message({"role": "assistant", "content": None, "tool_calls": calls})
    assert message == Message(role="assistant")
