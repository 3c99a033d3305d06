"""The smallest agent that asks a model; the conftest of a suite whose runtime it is.

It writes the files that the model says, one tool call at a time. Without the real agents' weight,
it shows what sessions do with model traffic.
"""

from __future__ import annotations

CONFTEST = """
import sys
from pathlib import Path

from pytest_evoclaw.results import Usage
from pytest_evoclaw.runtimes import Account
from pytest_evoclaw.runtimes import Launch
from pytest_evoclaw.transcript import EMPTY

AGENT = Path(__file__).with_name("agent.py")


class Caller:
    name = "caller"
    uses_model = True
    own_files = ()
    skill_folders = ()

    def check(self):
        return "1"

    def prepare(self, assignment):
        prompt = assignment.folders.state / "prompt"
        prompt.write_text(assignment.prompt, encoding="utf-8")
        endpoint = assignment.endpoint
        words = (endpoint.base_url, endpoint.api_key, endpoint.model, str(prompt))
        return Launch(argv=(sys.executable, str(AGENT), *words), read_only=(AGENT,))

    def read(self, assignment, ended):
        return Account(transcript=EMPTY, usage=Usage(input_tokens=7, source="provider"), turns=99)


def pytest_evo_make_runtime(name):
    return Caller() if name == "caller" else None
"""

AGENT = """
import json
import os
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

url, key, model, prompt = sys.argv[1:]
messages = [
    {"role": "system", "content": f"In {os.getcwd()} at {time.time_ns()}, {time.ctime()}."},
    {"role": "user", "content": Path(prompt).read_text(encoding="utf-8")},
]
parameters = {"type": "object", "properties": {"path": {}, "content": {}}}
tools = [{"type": "function", "function": {"name": "write_file", "parameters": parameters}}]
while True:
    asked = {"model": model, "messages": messages, "tools": tools}
    request = urllib.request.Request(url + "/chat/completions", json.dumps(asked).encode())
    request.add_header("authorization", "Bearer " + key)
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            said = json.load(response)["choices"][0]["message"]
    except (urllib.error.URLError, ConnectionError) as error:
        print(error)
        if Path("outputs/stubborn").exists():
            time.sleep(60)
        sys.exit(1)
    messages.append(said)
    for call in said.get("tool_calls") or ():
        arguments = json.loads(call["function"]["arguments"])
        path = Path(arguments["path"])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(arguments["content"], encoding="utf-8")
        told = f"written in {os.getcwd()} by pid {os.getpid()}"
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": told})
    if not said.get("tool_calls"):
        sys.exit(0)
"""
