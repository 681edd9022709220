"""Run one task and follow its events, with Python's standard library alone.

OMOI_API_URL=http://127.0.0.1:18000 python3 run_task.py owner/name "Say hello"
The first argument is a repository: owner/name at GitHub, or the absolute path of a local one. OMOI_API_KEY: an API key.
"""
import json, os, sys, urllib.error, urllib.request

SERVER, KEY = os.environ.get("OMOI_API_URL", "http://127.0.0.1:18000"), os.environ.get("OMOI_API_KEY")


def call(method, path, body=None):
    request = urllib.request.Request(SERVER + "/api/v1" + path, method=method)
    if KEY:
        request.add_header("Authorization", "Bearer " + KEY)
    if body is not None:
        request.add_header("Content-Type", "application/json")
        request.data = json.dumps(body).encode()
    try:
        return urllib.request.urlopen(request)
    except urllib.error.HTTPError as error:
        sys.exit(json.load(error)["detail"])


script = {"steps": [{"say": "hello"}, {"complete": {}}]}  # the scripted agent needs no model
task = json.load(call("POST", "/tasks", {
    "repo": sys.argv[1], "description": sys.argv[2], "agent": "scripted", "execution_config": {"script": script},
}))
for line in call("GET", f"/tasks/{task['id']}/stream"):
    if line.startswith(b"data: ") and line != b"data: {}\n":
        event = json.loads(line[len(b"data: "):])
        print(event["sequence"], event["event_type"])

task = json.load(call("GET", "/tasks/" + task["id"]))
print(task["status"])
sys.exit(task["status"] != "completed")
