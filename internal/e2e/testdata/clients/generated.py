"""Run one task to its end by the client that openapi-python-client generated."""
import os

from omoi_client import AuthenticatedClient
from omoi_client.api.tasks import create_task, list_task_events
from omoi_client.models import AgentCompletedEvent, CreateTaskRequest, Problem

client = AuthenticatedClient(base_url=os.environ["OMOI_API_URL"], token="unused", timeout=60)
script = {"steps": [{"say": "hello"}, {"complete": {}}]}
task = create_task.sync(client=client, body=CreateTaskRequest.from_dict({
    "repo": os.environ["OMOI_TEST_REPO"], "description": "Say hello", "agent": "scripted", "execution_config": {"script": script},
}))
assert task and not isinstance(task, Problem), task
cursor = ""
while cursor is not None:
    page = list_task_events.sync(task.id, client=client, cursor=cursor, wait="20s")
    assert page and not isinstance(page, Problem), page
    for event in page.items:
        print(event.sequence, event.event_type)
        if isinstance(event, AgentCompletedEvent):
            print("success", str(event.event_data.success).lower())
    cursor = page.next_cursor
print(page.task_status)
