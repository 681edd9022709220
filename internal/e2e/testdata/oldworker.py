"""A worker as the replaced system had it, for the tests: it speaks only the original contract.

It posts single events without numbers and without a token, takes nothing but HTTP 200 for
success, sends only agent.completed more than once, and beats and looks for messages in no other
place than its waiting loop. What a model would do stands in PLAY, a JSON list of turns, each a
list of steps; the last turn is played again when there is no other.
"""

import base64
import difflib
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

ENV = os.environ.get


def on(name, default):
    return ENV(name, default).lower() == "true"


SANDBOX = ENV("SANDBOX_ID", "sandbox-unknown")
BASE = ENV("CALLBACK_URL", "http://localhost:8000")
CWD = ENV("CWD") or ENV("WORKSPACE_PATH") or "/workspace"
POLL = float(ENV("POLL_INTERVAL", "0.5"))
BEAT = float(ENV("HEARTBEAT_INTERVAL", "30"))
IDS = {"task_id": ENV("TASK_ID", ""), "agent_id": ENV("AGENT_ID", ""), "sandbox_id": SANDBOX}
PLAY = json.loads(ENV("PLAY", '[[{"say": "TASK_COMPLETE"}]]'))
SIGNAL = ENV("COMPLETION_SIGNAL", "TASK_COMPLETE")


def log(*words):
    print(*words, file=sys.stderr, flush=True)


def request(method, path, body=None, timeout=30):
    """Answers status and text; status 0 where nobody answered."""
    data = None if body is None else json.dumps(body).encode()
    url = "%s/api/v1/sandboxes/%s/%s" % (BASE, SANDBOX, path)
    ask = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
    try:
        with urllib.request.urlopen(ask, timeout=timeout) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode()
    except OSError as lost:
        return 0, str(lost)


class Worker:
    def __init__(self):
        self.turn, self.played, self.sent, self.injected = 0, 0, 0, 0
        self.stop = False
        self.state = dict(
            iteration_num=0, successful_iterations=0, error_count=0, total_cost_usd=0.0, completion_signal_count=0,
            elapsed_seconds=0.0, last_session_id=None, validation_passed=False, tests_passed=False, code_committed=False,
            code_pushed=False, pr_created=False, pr_url=None, pr_number=None, files_changed=0, ci_status=[])

    # --- what it says

    def post(self, kind, data, source="agent"):
        tries = 3 if kind == "agent.completed" else 1
        for n in range(tries):
            self.sent += 1
            status, text = request("POST", "events", {"event_type": kind, "event_data": {**data, **IDS}, "source": source})
            if status == 200:
                return True
            if status != 502:
                log("event not taken:", kind, status, text)
            if n + 1 < tries:
                time.sleep(2 ** n)
        log("event lost:", kind)
        return False

    # --- one turn of the model

    def run_turn(self, prompt):
        turn = PLAY[min(self.played, len(PLAY) - 1)]
        self.played += 1
        self.turn += 1
        output = ""
        for step in turn:
            output = self.play(step) or output
        self.completed(output)
        return output

    def play(self, step):
        (kind, what), = step.items()
        if kind == "say":
            self.post("agent.assistant_message", {"turn": self.turn, "model": "none", "stop_reason": None, "block_count": 1})
            self.post("agent.message", {"turn": self.turn, "content": what, "content_length": len(what)})
            return what
        if kind == "write":
            return self.write(*what)
        if kind == "shell":
            return self.shell(what)
        if kind == "await":  # a model that thinks, for as long as the test wants it to
            while not os.path.exists(what):
                time.sleep(0.02)
        elif kind == "call":  # a tool that speaks to the platform
            status, text = request("POST", what[0], {"task_id": IDS["task_id"], **what[1]})
            log("called:", what[0], status, text)
        elif kind == "environment":
            self.post("agent.message", {"turn": self.turn, "content": json.dumps(dict(os.environ)), "content_length": 0})
        elif kind == "verdict":
            self.state["validation_passed"] = what
        elif kind == "fail":
            raise RuntimeError(what)
        return ""

    def tool(self, name, given, result, use):
        self.post("agent.tool_use", {"turn": self.turn, "tool": name, "tool_use_id": use, "input": given, "event_subtype": "tool_use"})
        self.post("agent.tool_result", {
            "turn": self.turn, "tool_use_id": use, "result": result[:5000], "result_truncated": len(result) > 5000,
            "result_full_length": len(result), "is_error": False})
        self.post("agent.tool_completed", {"turn": 0, "tool": name, "tool_input": given, "tool_response": result})

    def write(self, name, text):
        path = os.path.join(CWD, name)
        old = open(path).read() if os.path.exists(path) else ""
        with open(path, "w") as out:
            out.write(text)
        use = "use_%d" % self.sent
        self.tool("Write", {"file_path": path, "content": text}, "written", use)
        diff = "\n".join(difflib.unified_diff(old.splitlines(), text.splitlines(), "a/" + name, "b/" + name, lineterm=""))
        self.post("agent.file_edited", {
            "turn": 0, "tool_use_id": use, "file_path": path, "change_type": "modified" if old else "created",
            "lines_added": len(text.splitlines()), "lines_removed": len(old.splitlines()), "diff_preview": diff[:5000],
            "full_diff": diff, "full_diff_available": len(diff) > 5000, "full_diff_size": len(diff)})

    def shell(self, line):
        done = subprocess.run(line, shell=True, cwd=CWD, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.tool("Bash", {"command": line}, done.stdout, "use_%d" % self.sent)
        return done.stdout

    def completed(self, output):
        self.state["total_cost_usd"] += 0.01
        self.state["last_session_id"] = "session-of-" + SANDBOX
        transcript = json.dumps({"type": "assistant", "message": {"content": output}}) + "\n"
        self.post("agent.completed", {
            "success": True, "turns": self.turn, "cost_usd": 0.01, "session_id": self.state["last_session_id"],
            "transcript_b64": base64.b64encode(transcript.encode()).decode(), "stop_reason": "end_turn",
            "input_tokens": 10, "output_tokens": 5, "cache_read_tokens": 0, "cache_write_tokens": 0,
            "final_output": output, "branch_name": ENV("BRANCH_NAME", ""), "agent_type": ENV("AGENT_TYPE", "implementer"),
            "validation_feedback": output, **{k: self.state[k] for k in (
                "validation_passed", "tests_passed", "code_committed", "code_pushed", "pr_created", "pr_url", "pr_number",
                "files_changed", "ci_status")}})

    # --- continuous mode

    def git(self, *args):
        return subprocess.run(("git",) + args, cwd=CWD, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def validate(self):
        status = self.git("status", "--porcelain")
        inside = status.returncode == 0
        git = {
            "is_clean": inside and status.stdout == "",
            "is_pushed": inside and "ahead" not in self.git("status", "-sb").stdout,
            "has_pr": False,
            "branch_name": self.git("rev-parse", "--abbrev-ref", "HEAD").stdout.strip() if inside else "unknown",
        }
        errors = [text for name, met, text in (
            ("REQUIRE_CLEAN_GIT", git["is_clean"], "the work tree is not clean"),
            ("REQUIRE_CODE_PUSHED", git["is_pushed"], "the code is not pushed"),
            ("REQUIRE_PR_CREATED", git["has_pr"], "gh is not available")) if on(name, "true") and not met]
        self.state.update(
            validation_passed=not errors, tests_passed=True, code_committed=git["is_clean"], code_pushed=git["is_pushed"])
        self.post("iteration.validation", {
            "iteration_num": self.state["iteration_num"], "passed": not errors, "feedback": "; ".join(errors),
            "task_type": "implementation", "git_status": git, "errors": errors})
        return not errors

    def iterate(self, goal):
        limit, reason = int(ENV("MAX_ITERATIONS", "10")), "unknown"
        began, s = time.time(), self.state
        self.post("continuous.started", {
            "goal": goal[:500], "limits": {"max_iterations": limit, "max_cost_usd": float(ENV("MAX_TOTAL_COST_USD", "20.0")),
                                           "max_duration_seconds": int(ENV("MAX_DURATION_SECONDS", "3600"))},
            "completion_signal": SIGNAL, "completion_threshold": 1,
            "validation_requirements": {name: on(name, "true") for name in ("REQUIRE_CLEAN_GIT", "REQUIRE_CODE_PUSHED", "REQUIRE_PR_CREATED")}},
            "worker")
        while True:
            s["elapsed_seconds"] = time.time() - began
            if self.stop:
                reason = "shutdown_signal"
            elif s["successful_iterations"] >= limit:
                reason = "max_iterations_reached"
            elif s["error_count"] >= int(ENV("MAX_CONSECUTIVE_ERRORS", "3")):
                reason = "consecutive_errors"
            if reason != "unknown":
                break
            s["iteration_num"] += 1
            self.post("iteration.started", {"prompt_preview": goal[:500], **s})
            try:
                output = self.run_turn(goal)
            except Exception as wrong:
                s["error_count"] += 1
                self.post("iteration.failed", {
                    "iteration_num": s["iteration_num"], "error": str(wrong), "error_type": type(wrong).__name__, "error_count": s["error_count"]})
                continue
            s["error_count"] = 0
            if SIGNAL in output:
                s["completion_signal_count"] += 1
                self.post("iteration.completion_signal", {
                    "iteration_num": s["iteration_num"], "signal_count": s["completion_signal_count"], "threshold": 1})
                if self.validate():
                    reason = "validation_passed"
                    break
                s["completion_signal_count"] = 0
            s["successful_iterations"] += 1
            self.post("iteration.completed", {"cost_usd": 0.01, "output_preview": output[:1000], **s})
        self.post("continuous.completed", {"stop_reason": reason, "phase_data": {}, **s})

    # --- waiting

    def wait(self):
        self.post("agent.waiting", {"message": "Ready for messages"})
        beat = 0.0
        while not self.stop:
            if time.time() - beat >= BEAT:
                beat = time.time()
                self.post("agent.heartbeat", {"timestamp": beat, "status": "alive", "event_count": self.sent}, "worker")
            status, text = request("GET", "messages", timeout=10)
            for message in json.loads(text) if status == 200 else []:
                if message.get("content") and not self.hear(message):
                    break
            time.sleep(POLL)

    def hear(self, message):
        """Answers whether the rest of the batch is heard too."""
        content = message["content"]
        if message.get("message_type") == "interrupt":
            self.stop = True
            self.post("agent.interrupted", {"reason": content, "sender_id": message.get("sender_id"), "turn": self.turn})
            return False
        self.injected += 1
        self.post("agent.message_injected", {
            "message_type": message.get("message_type"), "content": content, "content_length": len(content),
            "sender_id": message.get("sender_id"), "message_id": message.get("message_id"),
            "intervention_number": self.injected, "turn": self.turn})
        try:
            self.run_turn(content)
        except Exception as wrong:
            self.post("agent.error", {"error": str(wrong), "message_type": message.get("message_type"), "content_length": len(content)})
        self.post("agent.waiting", {"message": "Ready for messages"})
        return True

    # --- its life

    def asked_to_stop(self, *_):
        self.stop = True

    def goal(self):
        try:
            given = json.loads(base64.b64decode(ENV("TASK_DATA_BASE64", "")))
        except ValueError as bad:
            log("task data cannot be read:", bad)
            given = {}
        return given.get("task_description") or ENV("INITIAL_PROMPT") or ENV("TICKET_DESCRIPTION") or "Analyze ticket: " + ENV("TICKET_TITLE", "")

    def run(self):
        signal.signal(signal.SIGTERM, self.asked_to_stop)
        signal.signal(signal.SIGINT, self.asked_to_stop)
        goal = self.goal()
        self.post("agent.started", {
            "timestamp": time.time(), "sdk": "none", "model": "none", "task": goal, "task_description_length": len(goal),
            "ticket_title": ENV("TICKET_TITLE", ""), "is_resuming": False, "fork_session": False}, "worker")
        if on("CONTINUOUS_MODE", "true"):
            self.iterate(goal)
        else:
            try:
                self.run_turn(goal)
            except Exception as wrong:
                self.post("agent.error", {"error": str(wrong), "phase": "initial_task"})
        self.wait()
        self.post("agent.interrupted", {"reason": "shutdown_signal", "turn": self.turn})
        self.post("agent.shutdown", {"reason": "complete", "total_turns": self.turn, "timestamp": time.time()}, "worker")


if __name__ == "__main__":
    Worker().run()
    log("worker ended")
