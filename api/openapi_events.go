package api

import (
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/omoi-dev/omoi/internal/event/catalog"
)

// describeEvents adds a schema for each event type, and says at each event_data which of them it has.
func describeEvents(schemas map[string]*huma.Schema) {
	known := map[string]any{}
	for eventType, e := range catalog.Events() {
		name := schemaName(eventType)
		known[eventType] = "#/components/schemas/" + name
		schemas[name] = eventSchema(e)
	}
	for _, name := range []string{"BatchEvent", "SandboxEvent", "Event", "StreamEvent"} {
		if schema := schemas[name]; schema != nil && schema.Properties["event_data"] != nil {
			schema.Properties["event_data"] = &huma.Schema{
				Description: "An object, by event_type as x-event-types says. Other types and fields are kept.",
				Extensions:  map[string]any{"x-event-types": known},
			}
		}
	}
}

func eventSchema(e catalog.Event) *huma.Schema {
	fields := make(map[string]*huma.Schema, len(e.Fields))
	for name, f := range e.Fields {
		fields[name] = &huma.Schema{Type: f.Type, Nullable: f.Nullable, Description: f.Doc}
		switch f.Type {
		case "any":
			fields[name].Type = ""
		case huma.TypeArray:
			fields[name].Items = &huma.Schema{}
		}
	}
	return &huma.Schema{
		Type: huma.TypeObject, Description: strings.TrimSpace(e.Summary + " " + e.Effect), Properties: fields,
		AdditionalProperties: true,
	}
}

// schemaName is EventAgentStarted for agent.started.
func schemaName(eventType string) string {
	var name strings.Builder
	for part := range strings.FieldsFuncSeq("event."+eventType, func(r rune) bool { return r == '.' || r == '_' }) {
		name.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return name.String()
}
