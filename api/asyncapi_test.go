package api_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/conductor"
	"github.com/omoi-dev/omoi/internal/diagnosis"
	"github.com/omoi-dev/omoi/internal/guardian"
	"github.com/omoi-dev/omoi/internal/notice"
	"github.com/omoi-dev/omoi/internal/supervise"
	"github.com/omoi-dev/omoi/internal/task"
	apitest "github.com/omoi-dev/omoi/internal/testkit/api"
)

// Channels of api/asyncapi.json.
const (
	taskChannel    = "taskEvents"
	changesChannel = "taskChanges"
	sandboxChannel = "sandboxEvents"
	busChannel     = "bus"
	webhookChannel = "diagnosisWebhook"
)

type reference struct {
	Ref string `json:"$ref"`
}

// name returns the last part of a reference.
func (r reference) name() string { return r.Ref[strings.LastIndexByte(r.Ref, '/')+1:] }

// asyncAPI is api/asyncapi.json. Its schemas are also those of api/openapi.json. All of them are closed: a field that
// no schema names is an error.
type asyncAPI struct {
	Version  string `json:"asyncapi"`
	Channels map[string]struct {
		Address  *string              `json:"address"`
		Messages map[string]reference `json:"messages"`
	} `json:"channels"`
	Operations map[string]struct {
		Action   string      `json:"action"`
		Channel  reference   `json:"channel"`
		Messages []reference `json:"messages"`
	} `json:"operations"`
	Components struct {
		Messages map[string]asyncMessage   `json:"messages"`
		Schemas  map[string]map[string]any `json:"schemas"`
	} `json:"components"`

	schemas  *openapi3.T
	compiled *apitest.Schemas
	paths    map[string]any
}

type asyncMessage struct {
	Name    string         `json:"name"` // of server-sent events: the field event, or "event"
	Headers map[string]any `json:"headers"`
	Payload reference      `json:"payload"`
}

var theAsyncAPI = sync.OnceValues(readAsyncAPI)

func readAsyncAPI() (*asyncAPI, error) {
	content, err := os.ReadFile("asyncapi.json")
	if err != nil {
		return nil, err
	}
	d := &asyncAPI{}
	if err := json.Unmarshal(bytes.ReplaceAll(content, []byte(`"openapi.json#/`), []byte(`"#/`)), d); err != nil {
		return nil, err
	}
	content, err = os.ReadFile("openapi.json")
	if err != nil {
		return nil, err
	}
	var all map[string]any
	if err := json.Unmarshal(content, &all); err != nil {
		return nil, err
	}
	d.paths, _ = all["paths"].(map[string]any)
	schemas, _ := all["components"].(map[string]any)["schemas"].(map[string]any)
	for name, schema := range schemas {
		if !strings.HasSuffix(name, "Base") { // a part of a union
			closeObjects(schema)
		}
	}
	for name, schema := range d.Components.Schemas {
		if schemas[name] != nil {
			return nil, fmt.Errorf("openapi.json has a schema %s too", name)
		}
		closeObjects(schema)
		schemas[name] = schema
	}
	for name, m := range d.Components.Messages {
		if m.Headers != nil {
			schemas[name+"Headers"] = m.Headers
		}
	}
	if content, err = json.Marshal(all); err == nil {
		d.schemas, err = openapi3.NewLoader().LoadFromData(content)
	}
	if err == nil {
		d.compiled, err = apitest.NewSchemas(d.schemas)
	}
	return d, err
}

// closeObjects rejects fields that an object does not name, unless the schema allows additional ones.
func closeObjects(node any) {
	switch node := node.(type) {
	case map[string]any:
		if _, open := node["additionalProperties"]; node["properties"] != nil && node["type"] == "object" && !open {
			node["additionalProperties"] = false
		}
		for name, inner := range node {
			if name != "allOf" { // parts of a union
				closeObjects(inner)
			}
		}
	case []any:
		for _, inner := range node {
			closeObjects(inner)
		}
	}
}

// fits returns an error if a message violates its schema.
func (d *asyncAPI) fits(channel, message string, headers map[string]any, payload []byte) error {
	if _, known := d.Channels[channel].Messages[message]; !known {
		return fmt.Errorf("channel %s has no message %q: %s", channel, message, payload)
	}
	m := d.Components.Messages[message]
	err := d.compiled.Check(d.schemas.Components.Schemas[m.Payload.name()], payload)
	if m.Headers != nil && err == nil {
		var text []byte
		if text, err = json.Marshal(headers); err == nil {
			err = d.compiled.Check(d.schemas.Components.Schemas[message+"Headers"], text)
		}
	}
	if err != nil {
		err = fmt.Errorf("%s is not what asyncapi.json says of message %s: %w", payload, message, err)
	}
	return err
}

// busFrame returns an error if a frame that the server sent over the WebSocket violates the document.
func (d *asyncAPI) busFrame(text []byte) error {
	var f struct {
		EventType string  `json:"event_type"`
		Error     *string `json:"error"`
		Status    string  `json:"status"`
	}
	if err := json.Unmarshal(text, &f); err != nil {
		return err
	}
	message := "busPing"
	switch {
	case f.EventType != "":
		message = d.busMessage(f.EventType)
	case f.Error != nil:
		message = "busError"
	case f.Status != "":
		message = "busSubscribed"
	}
	return d.fits(busChannel, message, nil, text)
}

// busMessage returns the message of an event type. The message of sandbox events has a pattern for all other types.
func (d *asyncAPI) busMessage(eventType string) string {
	for name := range d.Channels[busChannel].Messages {
		properties, _ := d.Components.Schemas[d.Components.Messages[name].Payload.name()]["properties"].(map[string]any)
		of, _ := properties["event_type"].(map[string]any)
		if types, _ := of["enum"].([]any); slices.Contains(types, any(eventType)) {
			return name
		}
	}
	return "busSandboxEvent"
}

// stream returns an error if a stream of server-sent events violates the document. The last event may be cut off.
func (d *asyncAPI) stream(path string, text []byte) error {
	channel, event := sandboxChannel, "streamEventOfSandbox"
	named := map[string]string{
		"reset": "streamReset", "end": "streamEnd", "error": "streamError", "hello": "streamHello", "task": "streamTask",
		"sandbox": "streamSandbox", "event": "streamShortEvent",
	}
	switch {
	case path == *d.Channels[changesChannel].Address:
		channel, event = changesChannel, ""
		named = map[string]string{"hello": "tasksHello", "task": "changedTask", "reset": "tasksReset"}
	case strings.Contains(path, "/tasks/"):
		channel, event = taskChannel, "streamEventOfTask"
	}
	var errs []error
	for part := range bytes.SplitSeq(text[:max(0, bytes.LastIndex(text, []byte("\n\n")))], []byte("\n\n")) {
		fields, data := map[string]any{}, ""
		for line := range strings.SplitSeq(string(part), "\n") {
			switch name, value, _ := strings.Cut(line, ": "); name {
			case "data":
				data = value
			case "":
			default:
				fields[name] = value
			}
		}
		if data == "" { // a comment
			continue
		}
		message := event
		if name, _ := fields["event"].(string); name != "" {
			message = named[name]
		}
		errs = append(errs, d.fits(channel, message, fields, []byte(data)))
	}
	return errors.Join(errs...)
}

// messageOf returns the message of a channel's operation that a reference names.
func (d *asyncAPI) messageOf(channel string, r reference) string {
	if r.Ref != "#/channels/"+channel+"/messages/"+r.name() {
		return ""
	}
	return d.Channels[channel].Messages[r.name()].name()
}

// heldToAsyncAPI fails the test if a frame of the WebSocket violates api/asyncapi.json.
func heldToAsyncAPI(tb testing.TB, frame any) {
	tb.Helper()
	d, err := theAsyncAPI()
	require.NoError(tb, err)
	text, err := json.Marshal(frame)
	require.NoError(tb, err)
	require.NoError(tb, d.busFrame(text))
}

func TestAsyncAPI_NamesAgree(t *testing.T) {
	t.Parallel()
	d, err := theAsyncAPI()
	require.NoError(t, err)
	require.NoError(t, d.schemas.Validate(t.Context()))
	require.Equal(t, "3.0.0", d.Version)
	require.ElementsMatch(t, []string{taskChannel, changesChannel, sandboxChannel, busChannel, webhookChannel}, slices.Collect(maps.Keys(d.Channels)))
	sent, payloads := map[string]bool{}, map[string]bool{}
	for name, c := range d.Channels {
		for key, m := range c.Messages {
			require.Equal(t, key, m.name())
			require.Contains(t, d.Components.Messages, key, name)
			payload := d.Components.Messages[key].Payload.name()
			require.Contains(t, d.schemas.Components.Schemas, payload, key)
			payloads[payload] = true
		}
	}
	for name, o := range d.Operations {
		require.Contains(t, d.Channels, o.Channel.name(), name)
		for _, r := range o.Messages {
			message := d.messageOf(o.Channel.name(), r)
			require.NotEmpty(t, message, r.Ref)
			sent[message] = true
		}
	}
	require.Len(t, sent, len(d.Components.Messages), "every message is sent or received")
	for name := range d.Components.Schemas {
		require.True(t, payloads[name] || name == "BusFilters", "%s belongs to a message", name)
	}
	for _, name := range []string{taskChannel, changesChannel, sandboxChannel} {
		require.Contains(t, d.paths, *d.Channels[name].Address)
	}
	require.Equal(t, "/api/v1/ws/events", *d.Channels[busChannel].Address)
	require.Nil(t, d.Channels[webhookChannel].Address, "the receiver chooses it")
}

func TestAsyncAPI_RejectsInvalidMessages(t *testing.T) {
	t.Parallel()
	d, err := readAsyncAPI()
	require.NoError(t, err)
	event := `{"id":"b:1","sandbox_id":"b","attempt":0,"sequence":1,"event_type":"x","source":"agent","event_data":{},"late":false,"created_at":"2026-01-02T03:04:05Z"}`
	require.NoError(t, d.stream("/api/v1/tasks/t/stream", []byte(": hello\n\nid: 1:1\ndata: "+event+"\n\nevent: end\ndata: {}\n\n")))
	for _, wrong := range []string{
		"data: " + event, "id: 1\ndata: {}", "id: 1\ndata: " + strings.Replace(event, `"sequence":1`, `"sequence":"1"`, 1),
		"event: reset\ndata: {}", `event: end` + "\n" + `data: {"more":1}`, `event: error` + "\n" + `data: {"status":"410"}`,
		"event: other\ndata: {}",
	} {
		require.Error(t, d.stream("/api/v1/sandboxes/b/stream", []byte(wrong+"\n\n")), wrong)
	}
	require.NoError(t, d.stream("/api/v1/tasks/stream", []byte("event: reset\ndata: {}\n\n")))
	for _, wrong := range []string{"id: 1:1\ndata: " + event, "event: end\ndata: {}", `event: task` + "\n" + `data: {"version":1}`, `event: reset` + "\n" + `data: {"more":1}`} {
		require.Error(t, d.stream("/api/v1/tasks/stream", []byte(wrong+"\n\n")), wrong)
	}
	failed := `{"event_type":"sandbox.failed","entity_type":"sandbox","entity_id":"b","payload":{"sandbox_id":"b","task_id":"t","error":"e"}}`
	require.NoError(t, d.busFrame([]byte(failed)))
	for _, wrong := range []string{
		strings.Replace(failed, `"error":"e"`, `"error":null`, 1), strings.Replace(failed, `"error":"e"`, `"error":"e","more":1`, 1),
		strings.Replace(failed, `"task_id":"t",`, "", 1), strings.Replace(failed, `sandbox.failed`, `sandbox.broken`, 1),
		strings.Replace(failed, `"entity_type":"sandbox"`, `"entity_type":"task"`, 1), strings.Replace(failed, `}}`, `},"more":1}`, 1),
		`{"event_type":"SANDBOX_x","entity_type":"sandbox","entity_id":"b","payload":{}}`, `{"type":"pong"}`, `{"error":1}`,
		`{"status":"subscribed","filters":{}}`,
	} {
		require.Error(t, d.busFrame([]byte(wrong)), wrong)
	}
	require.NoError(t, d.fits(busChannel, "busAuth", nil, []byte(`{"type":"auth","token":"t","entity_ids":["b"]}`)))
	require.NoError(t, d.fits(busChannel, "busSubscribe", nil, []byte(`{"type":"subscribe"}`)))
	for message, wrong := range map[string]string{"busAuth": `{"type":"auth"}`, "busSubscribe": `{"type":"subscribe","entity_ids":"b"}`} {
		require.Error(t, d.fits(busChannel, message, nil, []byte(wrong)), message)
	}
	require.Error(t, d.fits(webhookChannel, "diagnosisNotice", map[string]any{}, []byte(`{"id":"1","event":"diagnosis"}`)))
}

// TestAsyncAPI_FramesOfSupervision follows the bus while users call guardian actions, and guardian and conductor store
// analyses. Other tests validate every frame that they read too: see socket.next and follower.close.
func TestAsyncAPI_FramesOfSupervision(t *testing.T) {
	t.Parallel()
	w := start(t, quick)
	made := w.task(newTask())
	box := w.begin(made)
	s := w.socket(t, "").ready()
	w.steer(made, box)
	s.awaits("guardian.steering.intervention")
	action := func(route, body string) client.GuardianAction {
		return ok[client.GuardianAction](w.call(http.MethodPost, guardianRoutes+"/intervention/"+route, body), http.StatusOK)
	}
	changed := action("override-priority", `{"task_id":"`+made.ID+`","new_priority":"low","reason":"later"}`)
	s.awaits("guardian.intervention.completed")
	ok[client.RevertedAction](w.call(http.MethodPost, guardianRoutes+"/actions/"+changed.ID+"/revert", `{"reason":"no"}`), http.StatusOK)
	s.awaits("guardian.intervention.reverted")
	action("cancel-task", `{"task_id":"`+made.ID+`","reason":"now"}`)
	s.awaits("guardian.intervention.started")
	score := 0.5
	_, err := w.store.SaveConducted(t.Context(), conductor.Analysis{
		ID: task.NewID(), CycleID: "c", OrganizationID: w.org, Coherence: &score, Status: supervise.FleetNormal, Details: json.RawMessage(`{}`),
	}, nil)
	require.NoError(t, err)
	s.awaits("monitoring.conductor.analysis")
	ok[client.ReceivedEvent](w.call(http.MethodPost, wire+"spec-1/events",
		`{"event_type":"spec.criterion_met","event_data":{"criterion_id":"c","requirement_id":"r","evidence":["a test"]}}`), http.StatusOK)
	s.awaits("CRITERION_COMPLETED")
	w.exec(`UPDATE attempts SET kind = 'validation' WHERE sandbox_id = $1`, box)
	w.exec(`UPDATE sandboxes SET state = 'creating' WHERE id = $1`, box)
	w.exec(`UPDATE sandboxes SET state = 'running' WHERE id = $1`, box)
	s.awaits("VALIDATION_SANDBOX_SPAWNED")
}

// awaits reads until a frame of an event type arrives.
func (s *socket) awaits(eventType string) {
	s.t.Helper()
	for s.next()["event_type"] != eventType { // which validates each frame
	}
}

// steer makes the guardian nudge the agent of a task.
func (w *world) steer(of client.Task, box string) {
	w.t.Helper()
	j := guardian.Analysis{
		ID: task.NewID(), CycleID: "c", SandboxID: box, OrganizationID: w.org, TaskID: of.ID, Attempt: 1, SpokenBy: "rules", Verdict: "steer",
		NeedsSteering: true, SteeringType: supervise.Guidance, Confidence: 0.9, Analysis: json.RawMessage(`{}`),
		Subject: json.RawMessage(`{}`), Rules: json.RawMessage(`{}`), JudgedAt: time.Now(),
	}
	iv := guardian.Intervention{
		AnalysisID: j.ID, OrganizationID: w.org, TaskID: of.ID, SandboxID: box, Attempt: 1, SteeringType: supervise.Guidance, Content: "Look.", Confidence: 0.9,
	}
	planned, _, err := w.store.SaveAnalysis(w.t.Context(), j, iv, func([]guardian.PastIntervention) (guardian.PlannedIntervention, bool) {
		return guardian.PlannedIntervention{Level: guardian.LevelNudge}, true
	})
	require.NoError(w.t, err)
	_, err = w.store.CarryOut(w.t.Context(), planned)
	require.NoError(w.t, err)
}

func TestAsyncAPI_WebhookOfADiagnosis(t *testing.T) {
	t.Parallel()
	d, err := theAsyncAPI()
	require.NoError(t, err)
	w := start(t, quick)
	made := w.task(newTask())
	w.begin(made)
	w.end(made, task.StatusFailed)
	received := make(chan error, 1)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		headers := map[string]any{}
		for name := range r.Header {
			headers[name] = r.Header.Get(name)
		}
		received <- cmp.Or(err, d.fits(webhookChannel, "diagnosisNotice", headers, body))
	}))
	t.Cleanup(receiver.Close)
	service := diagnosis.New(diagnosis.Config{
		Enabled: true, Failures: 3, Newest: 100, Rules: supervise.DefaultSettings(),
		Webhook: true,
	}, diagnosis.Deps{Store: w.store, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, service.Step(t.Context()))
	sender := notice.New(notice.Config{Diagnoses: notice.Webhook{
		URL: receiver.URL, Secret: "a secret of sixteen", Client: func(*http.Request) (*http.Client, error) { return receiver.Client(), nil },
	}}, notice.Deps{Store: w.store, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, sender.Send(t.Context()))
	select {
	case err := <-received:
		require.NoError(t, err)
	default:
		t.Fatal("no webhook was sent")
	}
}
