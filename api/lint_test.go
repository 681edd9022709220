package api_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"
)

// exceptions returns the names that may break a rule of [TestDocument_FollowsTheRules], with the reason.
func exceptions() map[string]string {
	const legacy, agent, stored = "legacy API", "protocol of omoi-agent", "stored form, or a field that WIRE.md settles"
	return map[string]string{
		"HeartbeatSummary.first_heartbeat": legacy, "HeartbeatSummary.last_heartbeat": legacy, "LeasedMessage.timestamp": legacy,
		"MonitorHealth.last_analysis": legacy, "MonitorTiming.last_run": legacy, "MonitorTiming.next_run": legacy,
		"PhaseReport.timestamp": legacy, "ReceivedEvent.timestamp": legacy, "SandboxHealth.timestamp": legacy,
		"SandboxesStatus.timestamp": legacy, "GuardianAction.target_entity": legacy,
		"Budget.sandbox_s": stored, "Budget.wall_clock_s": stored, "Usage.sandbox_s": stored, "Usage.wall_clock_s": stored,
		"DeletionReceipt.seconds_alive": stored, "Sandbox.seconds_alive": stored, "Salvage.lost_since": stored,
		"SavedWork.lost_since": stored, "Reason.until": stored, "SandboxLabels.installation": stored,
		"SandboxLog.first": "an offset", "TranscriptMark.received": agent, "TranscriptMark.sum": agent,
		"CheckpointReceived.received": agent, "append-transcript offset": agent, "append-transcript sum": agent,
		"Problem.instance": "RFC 9457",
		"list-events":      legacy, "list-guardian-actions": legacy, "lease-messages": legacy,
		"list-legacy-tasks": legacy, "list-legacy-projects": legacy, "list-legacy-tickets": legacy,
		"list-dependencies": "the whole set, as PUT replaces it",
		"readiness":         "name of the check", "liveness": "name of the check", "health": "name of the check",
		"sandbox-health": legacy, "clear-tracked-sandboxes": legacy,
	}
}

// untyped are the fields without a type, or whose object has no named keys, with the reason. Data is that of any event type.
func untyped() map[string]string {
	const runtime, worker = "as the model or the agent runtime gave the value", "form of a legacy worker"
	const keys, user, script = "the description names the keys; legacy workers send others", "object of a user", "docs/TASKS.md lists the steps"
	return map[string]string{
		"Data.input": runtime, "Data.tool_input": runtime, "Data.tool_response": runtime, "Data.metadata": runtime,
		"Data.subagent_usage": runtime, "Data.usage": keys, "Data.total_usage": keys, "Data.limits": keys, "Data.git_status": keys,
		"Data.validation_requirements": keys, "Data.ci_status": worker, "Data.phase_data": worker, "Data.phase_output": worker,
		"Data.evidence": worker, "Artifact.checks": worker, "Data.reset_at": "a text or a number",
		"Event.event_data": "any event type", "ShortEvent.event_data": "any event type", "SandboxEvent.event_data": "any event type", "CreateEvent.event_data": "any event type",
		"CreateTicket.context": user, "UpdateTicket.context": user, "Ticket.context": user,
		"Validation.evidence": "object of a validator", "Verdict.evidence": "object of a validator",
		"ExecutionConfig.script": script, "Validator.script": script,
		"ActionAudit.before": "keys by action_type", "ActionAudit.after": "keys by action_type",
	}
}

// linter collects broken rules.
type linter struct {
	doc    *openapi3.T
	broken []string
	except map[string]string
	used   map[string]bool
}

// TestDocument_FollowsTheRules lints the API document, together with [TestDocument_DescribesEverything].
func TestDocument_FollowsTheRules(t *testing.T) {
	t.Parallel()
	doc, err := openapi3.NewLoader().LoadFromFile("openapi.json")
	require.NoError(t, err)
	l := &linter{doc: doc, except: exceptions(), used: map[string]bool{}}
	maps.Copy(l.except, untyped())
	l.schemas()
	ids := map[string]bool{}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			l.want(!ids[op.OperationID], op.OperationID, "its ID is unique")
			ids[op.OperationID] = true
			l.operation(path, method, op)
		}
	}
	require.Empty(t, l.broken)
	for name := range l.except {
		require.True(t, l.used[name], "no rule is broken by %s: remove the exception", name)
	}
}

// want records a broken rule of a name, unless the name is an exception.
func (l *linter) want(holds bool, name, rule string) {
	if holds {
		return
	}
	if l.used[name] = true; l.except[name] == "" {
		l.broken = append(l.broken, name+": "+rule)
	}
}

var (
	unitText = regexp.MustCompile(`(?i)\b(seconds|bytes|us dollars|milliseconds)\b`)
	unitName = regexp.MustCompile(`(^|_)(seconds|bytes|usd|ms)$`)
	idText   = regexp.MustCompile(`^(UUID|ID)\b`)
	idName   = regexp.MustCompile(`(^|_)ids?$`)
	// eventData matches the schemas of event data.
	eventData = regexp.MustCompile(`Data(Request)?$`)
	kebab     = regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)
)

// schemas checks the names of fields, except those of events, which omoi-agent and legacy workers define.
func (l *linter) schemas() {
	asked := l.requestSchemas()
	for schema, of := range l.doc.Components.Schemas {
		for field, p := range of.Value.Properties {
			l.typed(schema, field, p)
			if p.Value == nil || eventData.MatchString(schema) {
				continue
			}
			name := strings.TrimSuffix(schema, "Request") + "." + field
			l.want(p.Value.Format != "date-time" || strings.HasSuffix(field, "_at"), name, "a moment ends in _at")
			l.number(name, field, p.Value)
			l.want(!idText.MatchString(p.Value.Description) || idName.MatchString(field), name, "an ID ends in _id")
			closed := len(p.Value.Enum) > 1 && !asked[schema]
			l.want(!closed || strings.Contains(p.Value.Description, "More values may be added."), name, "an enum says that it may grow")
		}
	}
}

// typed checks that a field and the items of its list have a type, and an object named keys or a type of its values.
func (l *linter) typed(schema, field string, p *openapi3.SchemaRef) {
	if eventData.MatchString(schema) {
		schema = "Data"
	}
	for of := p; of != nil && of.Ref == ""; of = of.Value.Items {
		s := of.Value
		parts := len(s.AnyOf) + len(s.OneOf) + len(s.AllOf)
		named := !s.Type.Includes("object") || len(s.Properties) > 0 || hasValues(s)
		l.want(parts > 0 || s.Type != nil && named, strings.TrimSuffix(schema, "Request")+"."+field, "a field has a type, and an object keys")
	}
}

// hasValues reports whether the values of an object have a type.
func hasValues(s *openapi3.Schema) bool {
	values := s.AdditionalProperties.Schema
	return values != nil && (values.Ref != "" || values.Value.Type != nil)
}

func (l *linter) number(name, field string, of *openapi3.Schema) {
	isNumber := of.Type.Includes("number") || of.Type.Includes("integer")
	l.want(!isNumber || !unitText.MatchString(of.Description) || unitName.MatchString(field), name, "a number names its unit")
}

// requestSchemas returns the names of the schemas in request bodies.
func (l *linter) requestSchemas() map[string]bool {
	found := map[string]bool{}
	var visit func(ref *openapi3.SchemaRef)
	visit = func(ref *openapi3.SchemaRef) {
		name := ""
		if ref != nil {
			name = strings.TrimPrefix(ref.Ref, "#/components/schemas/")
		}
		if ref == nil || ref.Value == nil || name != "" && found[name] {
			return
		}
		found[name] = true
		visit(ref.Value.Items)
		for _, part := range slices.Concat(ref.Value.AllOf, ref.Value.AnyOf, ref.Value.OneOf) {
			visit(part)
		}
		for _, p := range ref.Value.Properties {
			visit(p)
		}
	}
	for _, item := range l.doc.Paths.Map() {
		for _, op := range item.Operations() {
			if op.RequestBody != nil {
				for _, content := range op.RequestBody.Value.Content {
					visit(content.Schema)
				}
			}
		}
	}
	return found
}

// verbs are the verbs with which summaries of operations may begin.
const verbs = " Acknowledge Add Analyze Answer Append Cancel Check Compare Complete Count Create Delete Download Emergency-cancel End " +
	"Explain Fork Get Lease List Mark Merge Override Pause Preview Re-encrypt Read Reallocate Receive Remove Replace Resume Retry Rewind " +
	"Revert Revoke Send Set Start Stream Submit Suspend Test Trigger Update Withdraw "

func (l *linter) operation(path, method string, op *openapi3.Operation) {
	const longest = 60
	verb, _, _ := strings.Cut(op.Summary, " ")
	l.want(strings.Contains(verbs, " "+verb+" "), op.OperationID, "its summary begins with a verb of the glossary")
	l.want(len(op.Summary) <= longest && !strings.HasSuffix(op.Summary, "."), op.OperationID, "its summary is short, without full stop")
	l.want(kebab.MatchString(op.OperationID), op.OperationID, "its ID is in kebab case")
	l.want(len(op.Tags) > 0, op.OperationID, "it has a tag")
	for _, p := range op.Parameters {
		if p.Value.In == openapi3.ParameterInQuery {
			l.number(op.OperationID+" "+p.Value.Name, p.Value.Name, p.Value.Schema.Value)
		}
	}
	l.statuses(path, op)
	if method == "GET" {
		l.paged(op)
	}
}

// statuses checks that an operation describes the errors that follow from its properties.
func (l *linter) statuses(path string, op *openapi3.Operation) {
	need := []string{"422", "500", "503"}
	if op.Security != nil && len(*op.Security) > 0 {
		need = append(need, "401", "403")
	}
	if strings.Contains(path, "{") {
		need = append(need, "404")
	}
	if op.RequestBody != nil {
		need = append(need, "400", "408", "413", "415")
	}
	for _, status := range need {
		l.want(op.Responses.Value(status) != nil, op.OperationID, "it describes its answer "+status)
	}
}

// paged checks that a list has a cursor and a limit, and returns items and next_cursor.
func (l *linter) paged(op *openapi3.Operation) {
	content := op.Responses.Value("200").Value.Content["application/json"]
	if content == nil {
		return
	}
	schema := content.Schema.Value
	isList := strings.HasPrefix(op.OperationID, "list-") || schema.Type.Includes("array")
	pages := schema.Properties["items"] != nil && schema.Properties["next_cursor"] != nil &&
		!slices.ContainsFunc([]string{"cursor", "limit"}, func(name string) bool {
			return op.Parameters.GetByInAndName(openapi3.ParameterInQuery, name) == nil
		})
	l.want(!isList || pages, op.OperationID, "a list is paged")
}
