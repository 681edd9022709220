package catalog_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/event/catalog"
)

func TestCatalog_DescribesEachEventOfTheTable(t *testing.T) {
	t.Parallel()
	known := groups(t)
	var types []string
	for _, e := range event.Table() {
		types = append(types, e.Type)
	}
	events := catalog.Events()
	require.ElementsMatch(t, types, slices.Collect(maps.Keys(events)))
	for name, e := range events {
		require.NotEmpty(t, e.Summary, name)
		for _, group := range e.Uses {
			require.Contains(t, known, group, name)
		}
		for field, f := range e.Fields {
			require.Contains(t, []string{"string", "integer", "number", "boolean", "object", "array", "any"}, f.Type, "%s of %s", field, name)
			require.True(t, f.Type != "boolean" || strings.HasPrefix(f.Doc, "true: ") || strings.HasPrefix(f.Doc, "false: "),
				"%s of %s: say what true means", field, name)
			require.True(t, !f.Nullable || strings.Contains(f.Doc, "null: "), "%s of %s: say what null means", field, name)
		}
	}
}

// What omoi reads of events is described.
func TestCatalog_NamesTheFieldsThatAreRead(t *testing.T) {
	t.Parallel()
	ends := append(event.Types(event.Completion), event.Types(event.Failure)...)
	checkRead(t, reflect.TypeFor[event.End](), ends)
	checkRead(t, reflect.TypeFor[event.Sign](), []string{event.AgentHeartbeat})
	checkRead(t, reflect.TypeFor[event.UsageReport](), event.Types(event.Usage))
	checkRead(t, reflect.TypeFor[event.Delivery](), []string{event.AgentMessage, event.AgentMessageInjected, event.AgentInterrupted, event.AgentWaiting})
}

func checkRead(t *testing.T, read reflect.Type, types []string) {
	t.Helper()
	events, known := catalog.Events(), map[string]catalog.Field{}
	for _, name := range types {
		maps.Copy(known, events[name].Fields)
	}
	for field := range read.Fields() {
		if tag := field.Tag.Get("json"); !strings.HasPrefix(tag, "total_in") && !strings.HasPrefix(tag, "total_out") { // of total_usage
			require.Contains(t, known, tag, read.Name())
		}
	}
}

func TestDocumentationIsCurrent(t *testing.T) {
	t.Parallel()
	page, path := page(groups(t)["common"]), filepath.Join("..", "..", "..", "docs", "EVENTS.md")
	if os.Getenv("OMOI_TEST_UPDATE") != "" {
		require.NoError(t, os.WriteFile(path, []byte(page), 0o644))
	}
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, page, string(content), "run make generate")
}

const intro = `# Events

Generated from internal/event by ` + "`make generate`" + `; do not edit.

For integrators: the events that agents report from their sandboxes. ` + "`POST /api/v1/sandboxes/{sandbox_id}/events`" + ` takes one,
` + "`POST .../events/batch`" + ` several; a program that omoi-agent runs may print them as lines. In the OpenAPI document an event is
one of the schemas of the types: ` + "`AgentStartedEvent`, whose `event_data` is an `AgentStartedData`" + `, for ` + "`agent.started`" + `; others are an ` + "`OtherEvent`" + `.

- All fields are optional. A field of another type than listed says nothing and hides no other field. Events are stored and shown as they came:
  fields and types that are not listed here are kept, and a type that is not listed counts as work.
- Sent by: **omoi-agent**; **program** (a line of a program that omoi-agent runs); **worker** (an agent that connects itself, legacy workers of
  OmoiOS among them); **server**. The API accepts each type from each sandbox; the column says who does send it.
- Class: a **milestone** is relayed to the task's workflow at once, **work** resets the clock of silence, a **heartbeat** is a sign of life
  and nothing more, **other** is neither. Completions are milestones that count as work.
- A full spool of omoi-agent drops events, but never those that must arrive.
- Lengths are in bytes, money in USD, times in RFC 3339; other units are in the names of fields.

| type | class | sent by | must arrive | meaning | what it does to a task |
|---|---|---|---|---|---|
`

func page(common map[string]catalog.Field) string {
	var index, sections strings.Builder
	events := catalog.Events()
	for _, row := range event.Table() {
		e, class := events[row.Type], string(event.ClassOf(row.Type))
		if event.Is(row.Type, event.Completion) {
			class += ", work"
		}
		anchor := strings.ReplaceAll(row.Type, ".", "")
		fmt.Fprintf(&index, "| [`%s`](#%s) | %s | %s | %s | %s | %s |\n", row.Type, anchor, class, senders(row.Type), mustArrive(row.Type), e.Summary, e.Effect)
		maps.DeleteFunc(e.Fields, func(name string, _ catalog.Field) bool { _, is := common[name]; return is })
		fmt.Fprintf(&sections, "\n### %s\n\n%s\n%s", row.Type, strings.TrimSpace(e.Summary+" "+e.Effect), table(e.Fields))
	}
	return intro + index.String() + "\n## Fields of all events\n" + table(common) + "\n## Fields by type\n" + sections.String()
}

func table(fields map[string]catalog.Field) string {
	if len(fields) == 0 {
		return ""
	}
	var text strings.Builder
	text.WriteString("\n| field | type | meaning |\n|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		f := fields[name]
		kind := f.Type
		if f.Nullable {
			kind += " or null"
		}
		fmt.Fprintf(&text, "| `%s` | %s | %s |\n", name, kind, f.Doc)
	}
	return text.String()
}

func senders(eventType string) string {
	var names []string
	for i, name := range []string{"omoi-agent", "program", "worker", "server"} {
		if event.Is(eventType, event.ByAgent<<i) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

func mustArrive(eventType string) string {
	if event.Is(eventType, event.MustArrive) {
		return "yes"
	}
	return ""
}

func groups(t *testing.T) map[string]map[string]catalog.Field {
	t.Helper()
	raw, err := os.ReadFile("catalog.json")
	require.NoError(t, err)
	var all struct {
		Groups map[string]map[string]catalog.Field `json:"groups"`
	}
	require.NoError(t, json.Unmarshal(raw, &all))
	return all.Groups
}
